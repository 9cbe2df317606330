// Copies into an inert document, where custom elements are not upgraded. Iterative: no depth overflows the stack.
// Without what is for browsers that run no scripts.
// Marks the links to routes that are written as anchors (`#guide`): the program listens, and there is no such place.
// Marks what the page came with beside its text and does not show (notices, dialogs), and headings and links
// for screen readers alone. Stories of Storybook are no pages: its pages of documentation show them.
deepest => {
  const beside = [...document.querySelectorAll('body > :not([role], [hidden], script, style, template, link, noscript)')]
    .filter(part => document.llmsspiderGiven?.get(part) === part.textContent && getComputedStyle(part).display === 'none');
  for (const part of beside) { part.hidden = true; part.setAttribute('role', 'dialog'); }
  for (const part of document.querySelectorAll('h2, h3, h4, h5, h6, a[href^="#"]')) {
    const isTiny = part.offsetWidth <= 1 && part.offsetHeight <= 1 && part.getClientRects().length > 0;
    const {opacity, position} = getComputedStyle(part);
    const {bottom, right} = part.getBoundingClientRect();
    const isOutside = /absolute|fixed/.test(position) && (bottom + scrollY < 0 || right + scrollX < 0);
    const isUnseen = opacity === '0' || isOutside;
    if (isTiny || (isUnseen && !part.closest('h1, h2, h3, h4, h5, h6'))) part.classList.add('sr-only');
  }
  const isStory = link => /[?&](?:path=\/story\/|viewMode=story\b)/.test(link.search);
  [...document.links].filter(isStory).forEach(link => link.removeAttribute('href'));
  const html = wholeHtml();
  for (const part of beside) { part.hidden = false; part.removeAttribute('role'); }
  return html;

  function wholeHtml() {
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
}
