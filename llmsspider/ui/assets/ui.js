// What is typed is searched at once, and a part of a page that changes is loaded again. Without this script, forms and links do the same.
"use strict";
async function load(address) {
  const answer = await fetch(address, { credentials: "same-origin" }).catch(() => null);
  return answer?.ok ? answer.text() : null;
}
for (const form of document.querySelectorAll("form[data-live]")) {
  const shown = document.getElementById(form.dataset.live);
  let timer = 0;
  let asked = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const number = ++asked;
      const query = new URLSearchParams(new FormData(form));
      history.replaceState(null, "", `/search?${query}`);
      query.set("part", "1");
      const text = await load(`/search?${query}`);
      if (text !== null && number === asked) shown.innerHTML = text;
    }, 200);
  });
}
const live = document.querySelector("[data-refresh]");
const pause = document.getElementById("pause");
let lost = 0;
async function refresh() {
  if (pause.getAttribute("aria-pressed") === "false") {
    const text = await load(location.href);
    lost = text === null ? lost + 1 : 0;
    if (text !== null) replace(new DOMParser().parseFromString(text, "text/html"));
  }
  if (lost > 3) {
    pause.disabled = true;
    pause.textContent = "The server is gone";
  } else if (live.dataset.refresh) setTimeout(refresh, 1000 * live.dataset.refresh);
}
function replace(next) {
  const found = next.getElementById("live");
  const places = () => [...live.querySelectorAll("a, button, summary, [tabindex]")];
  const place = places().indexOf(document.activeElement);
  for (const one of found.querySelectorAll("details[id]")) one.open = document.getElementById(one.id)?.open ?? one.open;
  live.dataset.refresh = found.dataset.refresh ?? "";
  live.replaceChildren(...found.childNodes);
  places()[place]?.focus({ preventScroll: true });
  document.title = next.title;
}
if (live) {
  pause.hidden = false;
  pause.addEventListener("click", () => pause.setAttribute("aria-pressed", pause.getAttribute("aria-pressed") === "false"));
  setTimeout(refresh, 1000 * live.dataset.refresh);
}
