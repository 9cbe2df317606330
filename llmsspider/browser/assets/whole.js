// Copies into an inert document, where custom elements are not upgraded. Iterative: no depth overflows the stack.
deepest => {
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
