// Copies into an inert document, where custom elements are not upgraded. Iterative: no depth overflows the stack.
// Without what is for browsers that run no scripts.
// Marks the links to routes that are written as anchors (`#guide`): the program listens, and there is no such place.
deepest => {
  document.querySelectorAll('noscript').forEach(part => { if (!part.textContent.includes('<img')) part.remove(); });
  const own = document.llmsspiderRoutes || window.onhashchange ? document.querySelectorAll('a[href*="#"]') : [];
  for (const link of own) {
    const name = link.hash.slice(1);
    const isPlace = document.getElementById(name) || document.getElementsByName(name).length > 0;
    const isOwn = link.href.split('#')[0] === location.href.split('#')[0];
    if (isOwn && !isPlace && /^(?!top$)(?:\w[\w./-]*|\?[\w./=&-]+)$/.test(name)) link.setAttribute('data-llmsspider-route', '');
  }
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '';
  const hasShadow = [...document.querySelectorAll('*')].some(element => element.shadowRoot);
  if (!hasShadow) return type + (document.documentElement?.outerHTML ?? '');
  const inert = document.implementation.createHTMLDocument('');
  const root = inert.importNode(document.documentElement, false);
  const waiting = [[document.documentElement, root, 0]];
  for (let entry; (entry = waiting.pop()); ) {
    let [from, to, depth] = entry;
    let children = from.childNodes;
    if (from.shadowRoot && depth < deepest) { children = from.shadowRoot.childNodes; depth++; }
    else if (from.localName === 'slot' && from.assignedNodes().length) children = from.assignedNodes();
    for (const child of children) {
      if (depth && (child.localName === 'style' || child.localName === 'script')) continue;
      if (child.localName === 'slot' && depth) {
        const place = inert.createElement('span');
        to.append(place);
        waiting.push([child, place, depth]);
        continue;
      }
      const copy = inert.importNode(child, child.localName === 'template');
      to.append(copy);
      if (child.nodeType === 1 && child.localName !== 'template') waiting.push([child, copy, depth]);
    }
  }
  return type + root.outerHTML;
}
