// --- graph: places come laid out, the canvas draws, moves and zooms them ---
const canvas = document.querySelector("#graph canvas"), pen = canvas.getContext("2d");
const PALETTE = ["#3b7ddd", "#e07b39", "#2f9e6e", "#c2529b", "#8a6fd1", "#b59a17", "#d14d4d", "#4aa5b5"];
const nodes = tree.nodes.map(([name, parent, page, x, y]) => ({ name, parent, page, x, y, out: [], into: [] }));
for (const [from, to] of tree.links) { nodes[from].out.push(to); nodes[to].into.push(from); }
const span = (axis) => [Math.min(-30, ...nodes.map((node) => node[axis])), Math.max(30, ...nodes.map((node) => node[axis]))];
const [left, right] = span("x"), [top_, bottom] = span("y");
const branches = nodes.map((node, index) => [node.parent, index]).filter(([parent]) => parent >= 0);
const view = { x: 0, y: 0, zoom: 1 };
let moved = false, picked = -1, hovered = -1, drag = null, matches = null, colours = new Map();
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function recolour() {
  const index = Number(byId("colour").value);
  const values = [...new Set(nodes.filter((node) => node.page >= 0).map((node) => documents[node.page][index] || "failed"))].sort();
  colours = new Map(values.map((value, place) => [value, PALETTE[place % PALETTE.length]]));
  byId("legend").replaceChildren(...[...colours].flatMap(([value, colour]) => {
    const dot = make("span", "● "); dot.style.color = colour; return [dot, make("span", value + "  ")];
  }));
}
function whole() {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  view.zoom = Math.min(width / (right - left), height / (bottom - top_)) / 1.15;
  view.x = width / 2 - (left + right) / 2 * view.zoom; view.y = height / 2 - (top_ + bottom) / 2 * view.zoom; moved = false; draw();
}
let waiting = false;
function draw() { if (!waiting) { waiting = true; requestAnimationFrame(paint); } }
function paint() {
  waiting = false;
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== width * scale || canvas.height !== height * scale) { canvas.width = width * scale; canvas.height = height * scale; }
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  const at = (node) => [view.x + node.x * view.zoom, view.y + node.y * view.zoom];
  const focus = picked >= 0 ? picked : hovered;
  const stroke = (pairs, colour, line, alpha) => {
    pen.strokeStyle = colour; pen.lineWidth = line; pen.globalAlpha = alpha; pen.beginPath();
    for (const [from, to] of pairs) {
      const [x1, y1] = at(nodes[from]), [x2, y2] = at(nodes[to]);
      pen.moveTo(x1, y1); pen.quadraticCurveTo((x1 + x2) / 2 * 0.75 + view.x * 0.25, (y1 + y2) / 2 * 0.75 + view.y * 0.25, x2, y2);
    }
    pen.stroke(); pen.globalAlpha = 1;
  };
  pen.strokeStyle = css("--soft"); pen.globalAlpha = branches.length < 100 ? 0.5 : branches.length < 800 ? 0.22 : 0.1; pen.lineWidth = 1; pen.beginPath();
  for (const [from, to] of branches) { pen.moveTo(...at(nodes[from])); pen.lineTo(...at(nodes[to])); }
  pen.stroke(); pen.globalAlpha = 1;
  if (focus < 0) stroke(tree.links, css("--accent"), 0.6, Math.min(0.35, 60 / Math.max(tree.links.length, 1) + 0.05));
  else {
    stroke(nodes[focus].out.map((to) => [focus, to]), css("--accent"), 1.6, 0.9);
    stroke(nodes[focus].into.map((from) => [from, focus]), css("--warn"), 1.6, 0.9);
  }
  const size = Math.max(2, Math.min(7, 4 * Math.sqrt(view.zoom)));
  pen.font = "12px system-ui, sans-serif";
  const labels = view.zoom > 0.55 || nodes.length < 80;
  const near = focus < 0 ? new Set() : new Set([...nodes[focus].out, ...nodes[focus].into]);
  const captions = [[], [], []], soft = css("--soft"), byValue = Number(byId("colour").value);
  nodes.forEach((node, index) => {
    const [x, y] = at(node);
    if (x < -50 || y < -50 || x > width + 50 || y > height + 50) return;
    const strong = index === focus || matches && matches.has(index);
    pen.globalAlpha = matches && !matches.has(index) ? 0.2 : 1;
    pen.fillStyle = node.page < 0 ? soft : colours.get(documents[node.page][byValue] || "failed"); pen.beginPath(); pen.arc(x, y, strong ? size + 3 : node.page < 0 ? size * 0.7 : size, 0, 7); pen.fill();
    pen.globalAlpha = 1;
    const far = Math.hypot(node.x, node.y) || 1, caption = [node.name, x, y, node.x / far, node.y / far];
    if (strong) captions[0].push(caption);
    else if (near.has(index)) captions[1].push(caption);
    else if (!matches && (labels || node.parent === 0) && node.page < 0) captions[1].push(caption);
    else if (!matches && labels) captions[2].push(caption);
  });
  write(captions.flat(), size + 3);
}
function write(captions, away) {  // on the outer side; what matters most first; a name that would lie on another is left out
  const taken = new Map();
  pen.fillStyle = css("--ink");
  for (const [name, x, middle, across, down] of captions) {
    const y = middle + down * (away + 4);
    const text = name.slice(0, 32), wide = pen.measureText(text).width, row = Math.floor(y / 15);
    const side = Math.abs(across) < 0.1 ? -wide / 2 : across < 0 ? -away - wide : away;
    const from = Math.max(0, Math.min(x + side, canvas.clientWidth - wide)), to = from + wide;
    const near = [row - 1, row, row + 1].flatMap((place) => taken.get(place) || []);
    if (near.some((other) => Math.abs(other.y - y) < 14 && from < other.to && to > other.from)) continue;
    pen.fillText(text, from, y + 4);
    if (!taken.has(row)) taken.set(row, []);
    taken.get(row).push({ y, from, to });
  }
}
function nearest(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let best = -1, close = 14;
  nodes.forEach((node, index) => {
    const away = Math.hypot(view.x + node.x * view.zoom - x, view.y + node.y * view.zoom - y);
    if (away < close) { best = index; close = away; }
  });
  return best;
}
function zoom(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  moved = true;
  const next = Math.min(20, Math.max(0.01, view.zoom * by)), ratio = next / view.zoom;
  view.x = x - (x - view.x) * ratio; view.y = y - (y - view.y) * ratio; view.zoom = next; draw();
}
function pick(index) {
  picked = index;
  const said = byId("picked"), node = nodes[index];
  said.replaceChildren();
  if (!node) said.textContent = "No page is picked.";
  else if (node.page < 0) said.textContent = `${node.name || "the root"}: a folder, no page`;
  else {
    const row = documents[node.page];
    said.append(make("b", row[0] || row[1]), make("br"), anchor(row[1]), make("br"),
      make("span", `${row[3]}, ${row[4]}${row[5] === null ? "" : ", depth " + row[5]}; links to ${node.out.length} pages, linked from ${node.into.length}`));
  }
  draw();
}
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.clientX - box.left, event.clientY - box.top);
}, { passive: false });
canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, moved: false }; canvas.setPointerCapture(event.pointerId); });
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 3 || drag.moved) { moved = true; view.x += dx; view.y += dy; drag = { x: event.clientX, y: event.clientY, moved: true }; draw(); }
  } else { const near = nearest(event); if (near !== hovered) { hovered = near; canvas.title = near >= 0 ? nodes[near].name : ""; draw(); } }
});
canvas.addEventListener("pointerup", (event) => { if (drag && !drag.moved) pick(nearest(event)); drag = null; });
canvas.addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
  if (steps[event.key]) { moved = true; view.x += steps[event.key][0]; view.y += steps[event.key][1]; draw(); }
  else if (event.key === "+" || event.key === "=") zoom(1.3);
  else if (event.key === "-") zoom(1 / 1.3);
  else return;
  event.preventDefault();
});
byId("find").addEventListener("input", (event) => {
  const word = event.target.value.trim().toLowerCase();
  matches = word ? new Set(nodes.map((node, index) => index).filter((index) => {
    const node = nodes[index];
    return node.name.toLowerCase().includes(word) || node.page >= 0 && haystack[node.page].includes(word);
  })) : null;
  draw();
});
byId("nearer").addEventListener("click", () => zoom(1.4));
byId("farther").addEventListener("click", () => zoom(1 / 1.4));
byId("whole").addEventListener("click", whole);
byId("colour").addEventListener("change", () => { recolour(); draw(); });
window.addEventListener("resize", () => moved ? draw() : whole());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
recolour();
whole();
