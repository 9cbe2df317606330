"use strict";
// Whatever the site wrote goes into the page as text, never as markup.
const byId = (id) => document.getElementById(id);
const say = (id, text) => { const node = byId(id); if (node.textContent !== String(text)) node.textContent = text; };
const make = (name, text, kind) => { const node = document.createElement(name); if (text !== undefined) node.textContent = text; if (kind) node.className = kind; return node; };
const count = (number) => number.toLocaleString("en");
let state = {}, known = "", asking = false;

function duration(secs) {
  if (secs < 60) return `${secs.toFixed(0)} s`;
  const minutes = Math.floor(secs / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(secs % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
function bars(id, values) {
  const rows = Object.entries(values || {}).sort((a, b) => b[1] - a[1]), most = Math.max(1, ...rows.map((row) => row[1]));
  const box = byId(id);
  while (box.children.length > rows.length) box.lastChild.remove();
  rows.forEach(([name, value], index) => {
    let row = box.children[index];
    if (!row) { row = make("div"); const track = make("div"); track.append(make("i")); row.append(make("span"), track, make("b")); box.append(row); }
    row.children[0].textContent = name; row.children[0].title = name;
    row.children[1].firstChild.style.width = `${100 * value / most}%`;
    row.children[2].textContent = count(value);
  });
}
const WINDOW = [5, 0.05];  // a rate is taken over so many seconds, or so much of the crawl, whichever is longer
function rates(points) {
  const window = Math.max(WINDOW[0], WINDOW[1] * points.at(-1)[0]), found = [];
  let from = 0;
  points.forEach(([secs, done], index) => {
    while (from < index - 1 && secs - points[from + 1][0] >= window) from += 1;
    if (index > 1 && secs - points[from][0] >= 1) found.push([secs, 60 * (done - points[from][1]) / (secs - points[from][0])]);
  });
  return found;
}
function rate(points) {
  const found = points && points.length > 2 ? rates(points) : [];
  say("rest", state.ended ? "0 s" : found.length && found.at(-1)[1] > 0 ? duration(60 * state.queued / found.at(-1)[1]) : "–");
  if (found.length < 2) return;
  const chart = byId("rate"), end = found.at(-1)[0], top = Math.max(1, ...found.map((point) => point[1]));
  const path = "M" + found.map(([secs, value]) => `${(600 * secs / end).toFixed(1)} ${(150 - value / top * 146).toFixed(1)}`).join(" L");
  const [area, line] = chart.querySelectorAll("path");
  line.setAttribute("d", path);
  area.setAttribute("d", `${path} L600 150 L${(600 * found[0][0] / end).toFixed(1)} 150 Z`);
  say("rate-top", `${count(Math.round(top))} pages/min`); say("rate-end", duration(end));
}
function recent() {
  byId("recent").replaceChildren(...(state.recent || []).map((page) => {
    const row = make("li");
    row.append(make("b", page.status || "–"), make("span", page.url), " ", make("span", `${page.what}, ${page.size ? `${count(page.size)} characters, ` : ""}after ${duration(page.secs)}`, "soft"));
    return row;
  }));
}
function numbers() {
  document.title = `${state.ended ? "done" : `${state.percent}%`} · ${state.source}`;
  say("source", state.source);
  say("url", state.url || "");
  say("run", state.run ? `run ${state.run}` : "");
  say("phase", state.ended ? (state.complete ? "complete" : `incomplete: ${state.why || state.outcome}`) : state.phase);
  byId("phase").className = state.ended ? (state.complete ? "chip good" : "chip bad") : "chip";
  document.body.classList.toggle("done", Boolean(state.ended));
  document.body.classList.toggle("complete", Boolean(state.ended && state.complete));
  say("percent", `${state.percent}%`);
  byId("fill").style.width = `${state.percent}%`;
  byId("bar").setAttribute("aria-valuenow", state.percent);
  say("of", `${count(state.done)} of ${count(state.total)} pages`);
  for (const key of ["done", "queued", "documents", "unchanged", "failed", "left_out"]) say(`n-${key}`, count(state[key]));
  byId("n-failed").classList.toggle("bad", state.failed > 0);
  say("n-pages_per_min", count(Math.round(state.pages_per_min)));
  say("elapsed", duration(state.elapsed_secs));
  if (state.discovered_file) say("found", `Found ${state.discovered_file_type} at ${state.discovered_file}` + (state.linked_files ? `, and ${state.linked_files} linked` : ""));
  else if (!["starting", "discovery"].includes(state.phase)) say("found", "No llms.txt, llms-full.txt or sitemap: links are followed.");
  bars("origins", state.origins); bars("changes", state.changes); bars("errors", state.errors); bars("filtered", state.filtered);
  rate(state.timeline); recent();
}
function entry([reason, url, detail]) {
  const row = make("li");
  row.append(make("b", reason), make("span", url));
  if (detail) row.append(" ", make("span", detail, "soft"));
  return row;
}
function lists() {
  byId("files").replaceChildren(...(state.files || []).map((file) => {
    const row = make("li");
    row.append(make("b", file.kind === "full" ? "full text" : "index"), make("span", file.url), " ", make("span", `${count(file.entries)} ${file.entries === 1 ? "entry" : "entries"}`, "soft"));
    return row;
  }), ...(state.sitemaps || []).map((url) => { const row = make("li"); row.append(make("b", "sitemap"), make("span", url)); return row; }));
  say("scope", state.scope || "");
  byId("error-list").replaceChildren(...(state.error_examples || []).map(entry));
  const choice = byId("reason"), chosen = choice.value, reasons = Object.keys(state.filtered || {}).sort();
  if (choice.options.length !== reasons.length + 1) {
    choice.replaceChildren(new Option("all", ""), ...reasons.map((reason) => new Option(reason, reason)));
    choice.value = chosen;
  }
  search();
}
const isPicture = ([reason, url]) => reason === "file-type" && /\.(png|jpe?g|gif|svg|webp|avif|ico)([?#]|$)/i.test(url);
function search() {
  const word = byId("search").value.trim().toLowerCase(), reason = byId("reason").value, all = state.filtered_examples || [];
  const found = all.filter((row) => !isPicture(row) && (!reason || row[0] === reason) && (!word || row.some((text) => text.toLowerCase().includes(word))));
  byId("filtered-list").replaceChildren(...found.slice(0, 300).map(entry));
  say("shown", `${count(found.length)} shown of ${count(state.left_out || 0)}; 50 of each reason are kept here, pictures are not listed`);
}
async function details() {
  const now = `${state.failed} ${state.left_out} ${state.phase}`;
  if (now === known || asking) return;
  known = now; asking = true;
  try {
    const answer = await fetch("/status.json");
    if (answer.ok) { state = { ...state, ...await answer.json() }; numbers(); lists(); }
  } finally { asking = false; }
}
async function ended() {
  const box = byId("end");
  box.hidden = false;
  box.textContent = state.complete ? "The crawl is complete." : `The crawl is incomplete: ${state.why || state.outcome}.`;
  if (!state.report) { box.append(" Set LLMS_REPORT for a report of it."); return; }
  try {
    const answer = await fetch("/report.html");
    if (!answer.ok) throw new Error(answer.statusText);
    const link = make("a", "Open the report");
    link.id = "report"; link.target = "_blank";
    link.href = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: "text/html;charset=utf-8" }));
    box.append(" ", link, make("span", ` (${state.report})`, "soft"));
  } catch { box.append(` The report: ${state.report}`); }
}
byId("search").addEventListener("input", search);
byId("reason").addEventListener("change", search);
const stream = new EventSource("/events");
stream.addEventListener("state", (event) => { state = JSON.parse(event.data); numbers(); lists(); say("line", ""); });
let paused = false;
byId("pause").addEventListener("click", () => {
  paused = !paused;
  say("pause", paused ? "Go on" : "Pause the display"); byId("pause").setAttribute("aria-pressed", paused);
});
stream.addEventListener("numbers", (event) => { if (paused) return; state = { ...state, ...JSON.parse(event.data) }; numbers(); details(); });
stream.addEventListener("end", async (event) => { state = JSON.parse(event.data); byId("pause").hidden = true; numbers(); lists(); await ended(); stream.close(); });
let lost = 0;
stream.addEventListener("open", () => { lost = 0; });
stream.addEventListener("error", () => {
  if (state.ended) return;
  say("line", "The connection is lost: the crawl was killed.");
  lost += 1;
  if (lost > 3) stream.close();
});
