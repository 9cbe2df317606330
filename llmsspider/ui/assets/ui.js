// Search as one types: the results of the form alone are loaded. Without this script the form works as forms do.
"use strict";
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
      const answer = await fetch(`/search?${query}`, { credentials: "same-origin" });
      if (answer.ok && number === asked) shown.innerHTML = await answer.text();
    }, 200);
  });
}
