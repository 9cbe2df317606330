"use strict";
const { documents, tree } = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const make = (name, text) => { const node = document.createElement(name); if (text !== undefined) node.textContent = text; return node; };
const anchor = (url, text) => {
  if (!/^https?:\/\//.test(url)) return make("span", text || url);
  const node = make("a", text || url); node.href = url; node.rel = "noopener noreferrer"; return node;
};
const haystack = documents.map((row) => (row[0] + " " + row[1] + " " + row[2]).toLowerCase());

