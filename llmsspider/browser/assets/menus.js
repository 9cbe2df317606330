// Opens the closed groups of menus whose entries are drawn when they are opened, but those with a name of `known`. Called
// until none is left. Returns the names of those that were opened now, and all links that came of it, as HTML.
(most, known) => {
  const state = (document.llmsspiderMenus ??= {before: new Set([...document.links].map(link => link.href)), done: new Set(), found: new Map()});
  const idsOf = group => (group.getAttribute('aria-controls') ?? '').split(/\s+/).filter(Boolean);
  const isDrawn = group => {
    const parts = idsOf(group).map(id => document.getElementById(id));
    const near = [group.nextElementSibling, ...(group.closest('li')?.querySelectorAll('ul, ol') ?? [])];
    return (parts.length ? parts : near).some(part => part?.matches('a[href]') || part?.querySelector('a[href]'));
  };
  const nameOf = group => `${idsOf(group)} ${group.ariaLabel ?? group.textContent.trim()}`;
  const kinds = ['button', '[role="button"]:not([href])', '[role="treeitem"]'].map(kind => `${kind}[aria-expanded="false"]`);
  const closed = [...document.querySelectorAll(`:is(nav, aside, header, [role="navigation"], [role="tree"]) :is(${kinds})`)]
    .filter(group => !(group.closest('form') || state.done.has(group) || known.includes(nameOf(group)) || isDrawn(group)));
  state.popups ??= closed.filter(group => /^(?:true|menu)$/.test(group.ariaHasPopup));  // one is open at a time
  const groups = [...closed.filter(group => !group.ariaHasPopup), ...state.popups.splice(0, 1)].slice(0, most);
  const names = groups.map(nameOf);
  for (const {href, textContent} of document.links) {
    if (!state.before.has(href)) state.found.set(href, textContent);
  }
  for (const group of groups) { state.done.add(group); group.click(); }
  const menu = document.implementation.createHTMLDocument('').createElement('nav');
  for (const [href, textContent] of state.found) {
    menu.append(Object.assign(document.createElement('a'), {href, textContent}));
  }
  return [names, state.found.size ? menu.outerHTML : ''];
}
