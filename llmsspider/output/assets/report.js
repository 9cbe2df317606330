"use strict";
const { documents } = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const make = (name, text) => { const node = document.createElement(name); if (text !== undefined) node.textContent = text; return node; };
const anchor = (url, text) => {
  if (!/^https?:\/\//.test(url)) return make("span", text || url);
  const node = make("a", text || url); node.href = url; node.rel = "noopener noreferrer"; return node;
};
const haystack = documents.map((row) => (row[0] + " " + row[1] + " " + row[2]).toLowerCase());

// --- documents: a table that is searched, sorted and shown a part at a time ---
const PART = 100;
let shown = PART, column = -1, upwards = true;
for (const [id, index] of [["change", 4], ["origin", 3]]) {
  for (const value of [...new Set(documents.map((row) => row[index]))].sort()) byId(id).append(make("option", value));
  byId(id).addEventListener("change", () => { shown = PART; list(); });
}
function chosen() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const change = byId("change").value, origin = byId("origin").value;
  const found = [];
  documents.forEach((row, index) => {
    if (change && row[4] !== change || origin && row[3] !== origin) return;
    if (words.every((word) => haystack[index].includes(word))) found.push(row);
  });
  if (column >= 0) found.sort((a, b) => (a[column] < b[column] ? -1 : a[column] > b[column] ? 1 : 0) * (upwards ? 1 : -1));
  return found;
}
function list() {
  const found = chosen(), rows = byId("rows");
  rows.replaceChildren(...found.slice(0, shown).map((row) => {
    const line = make("tr"), title = make("td");
    title.append(anchor(row[1], row[0] || row[1]), make("br"), Object.assign(make("span", row[1]), { className: "soft" }));
    line.append(title, ...[2, 3, 4, 6].map((index) => make("td", row[index] ?? "")));
    line.append(Object.assign(make("td", row[5]), { className: "n" }));
    return line;
  }));
  byId("shown").textContent = `${found.length.toLocaleString("en")} of ${documents.length.toLocaleString("en")}`;
  byId("more").hidden = found.length <= shown;
}
byId("search").addEventListener("input", () => { shown = PART; list(); });
byId("more").addEventListener("click", () => { shown += PART; list(); });
byId("columns").addEventListener("click", (event) => {
  const picked = event.target.dataset.column;
  if (picked === undefined) return;
  upwards = Number(picked) === column ? !upwards : true;
  column = Number(picked);
  for (const head of byId("columns").children) head.removeAttribute("aria-sort");
  event.target.parentElement.setAttribute("aria-sort", upwards ? "ascending" : "descending");
  list();
});
list();

