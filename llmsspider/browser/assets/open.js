// Opens what is drawn when it is asked for: sections below, tabs without a text yet, closed parts (one a call where one
// is open at a time), lists that go on, what radio buttons and selects choose, one choice a call. Called until nothing
// is left. Returns how many were opened or scrolled to now, and how many tabs are left.
(most, isLast) => {
  const state = (document.llmsspiderOpened ??= {done: new Set(), twice: new Set(), panels: new Map(), drawn: new Set(), queue: null, rounds: 0});
  const besides = 'nav, header, footer, aside, form, [role="dialog"], [role="navigation"], [role="menu"], [aria-haspopup]';
  const shows = element => element.getClientRects().length > 0;
  const panelOf = tab => document.getElementById(tab.getAttribute('aria-controls'))
    ?? (!tab.id ? null : document.querySelector(`[role="tabpanel"][aria-labelledby="${CSS.escape(tab.id)}"]`));
  const shared = tab => tab.closest('[role="tablist"]')?.parentElement?.querySelector('[role="tabpanel"]:not([hidden])');
  const lists = [...document.querySelectorAll('[role="tablist"]')].filter(list => !list.closest(besides));
  const isDrawn = (tab, others) => {  // a panel of several tabs shows what one of them holds
    const panel = panelOf(tab);
    return panel?.textContent.trim() && !others.some(other => other !== tab && panelOf(other) === panel);
  };
  const isOpen = control => control.getAttribute('aria-expanded') === 'true';
  const keep = (control, panel) => state.panels.set(control, [panel, panel.cloneNode(true)]);
  const tabs = list => [...list.querySelectorAll('[role="tab"]')];
  for (const list of lists) {  // what the tab that is open shows: the next one may take its place
    const open = tabs(list).find(tab => tab.getAttribute('aria-selected') === 'true');
    const panel = open && (panelOf(open) ?? shared(open));
    if (panel) keep(open, panel);
  }
  const leads = tab => tab.closest('a[href]') && !/^#[\w-]*$/.test(tab.closest('a[href]').getAttribute('href'));
  const left = list => tabs(list).filter(tab => !(state.done.has(tab) || leads(tab) || tab.disabled || !(panelOf(tab) ?? shared(tab))
    || tab.getAttribute('aria-selected') === 'true' || isDrawn(tab, tabs(list))));
  // what a choice drew: the smallest element that holds all that has changed since, without the choice and the heading
  const keepDrawn = () => {
    const changed = [...state.drawn].map(node => (node.nodeType === 1 ? node : node.parentElement)).filter(node => node?.isConnected);
    state.drawn.clear();
    let panel = changed[0];
    while (panel && !changed.every(node => panel.contains(node))) panel = panel.parentElement;
    const isPanel = panel && panel !== document.body && !panel.querySelector('h1') && !panel.contains(state.queue.control);
    if (isPanel) keep(state.queue.chosen, panel);
    else state.queue.left.splice(0, state.queue.left.length - 1);  // it is as it was, in the end
  };
  if (state.queue?.chosen) keepDrawn();
  if (isLast) {
    const kept = [...document.querySelectorAll('[role="tabpanel"]'), ...[...state.panels.values()].map(([panel]) => panel)]
      .map(panel => panel.innerHTML);
    for (const [control, [panel, copy]] of [...state.panels].reverse()) {
      if (kept.includes(copy.innerHTML) || !panel.isConnected || isOpen(control)) continue;
      copy.removeAttribute('id');
      copy.hidden = false;
      panel.after(copy);
    }
    return [0, lists.reduce((sum, list) => sum + left(list).length, 0)];
  }
  const choose = () => {  // what is open comes last
    state.queue.chosen = state.queue.left.shift();
    state.queue.set(state.queue.chosen);
    return [1, 0];
  };
  if (state.queue?.left.length) return choose();  // they were counted
  state.queue = null;
  state.observer?.disconnect();
  state.rounds += 1;
  const from = scrollY;
  scrollBy({top: innerHeight, behavior: 'instant'});
  const goesOn = part => part.scrollHeight > part.scrollTop + part.clientHeight + 1 && part.clientHeight > 0;
  const inner = [...document.querySelectorAll('body *')]  // parts with a scroll bar of their own
    .filter(part => goesOn(part) && !part.closest(`${besides}, pre, textarea`) && /auto|scroll/.test(getComputedStyle(part).overflowY));
  for (const part of inner) {  // all of it is seen, also by lists that have only the rows that are seen
    Object.assign(part.style, {height: `${Math.min(part.scrollHeight, part.clientHeight + 8000)}px`, maxHeight: 'none'});
    part.scrollTo({top: part.scrollHeight, behavior: 'instant'});
    part.dispatchEvent(new Event('scroll'));
  }
  if (scrollY === from) document.dispatchEvent(new Event('scroll', {bubbles: true}));  // as a lower window would
  const more = new RegExp('^[^\\p{L}\\d]*(?:(?:load|show|view|see|expand|read) (?:(?:the )?(?:next )?\\d+|more|all)\\b.{0,30}|more(?: \\w+)?'
    + '|(?:mehr|weitere|alle) \\p{L}+|(?:voir|afficher|charger) plus|(?:cargar|ver|mostrar|carregar) m[áa]i?s|carica altr[oi]|mostra altro'
    + '|показать ещ[её]|загрузить ещ[её]|もっと(?:見る|読み込む)|(?:加载|查看|显示)更多)[^\\p{L}\\d]*$', 'iu');
  const inPlace = 'button:not([type="submit"]), [role="button"]:not([href]), a[href="#"]';
  const buttons = [...document.querySelectorAll(inPlace)]
    .filter(button => shows(button) && !button.disabled && !button.closest(besides));
  const partOf = button => document.getElementById(button.getAttribute('aria-controls'))
    ?? (button.closest('h2, h3, h4, h5, h6') ?? button).nextElementSibling;
  const opened = buttons.filter(button => state.done.has(button) && isOpen(button) && partOf(button));
  for (const button of opened) keep(button, partOf(button));
  const shut = buttons.filter(button => button.getAttribute('aria-expanded') === 'false'
    && !document.getElementById(button.getAttribute('aria-controls'))?.textContent.trim());
  const again = shut.filter(button => state.done.has(button) && !state.panels.has(button) && !state.twice.has(button));
  const one = opened.length ? again.slice(0, 1) : [];  // where one is open at a time
  one.forEach(button => state.twice.add(button));
  const next = lists.flatMap(list => left(list).slice(0, 1));
  const chosen = [
    ...next,
    ...buttons.filter(button => more.test(button.textContent)),
    ...shut.filter(button => !state.done.has(button)),
    ...one,
  ].slice(0, most);
  const closed = [...document.querySelectorAll('details:not([open])')].filter(part => !(part.closest(besides) || state.done.has(part)));
  const summaryOf = part => part.querySelector(':scope > summary');
  const empty = closed.filter(part => part.textContent.trim() === (summaryOf(part)?.textContent.trim() ?? ''));
  for (const part of closed) {
    state.done.add(part);
    part.removeAttribute('name');  // it would close the others
    summaryOf(part)?.click();
    part.open ||= !summaryOf(part);
  }
  const count = chosen.length + empty.length + inner.length + (scrollY > from);
  if (!count) {  // nothing else is left
    const isFree = element => shows(element) && !element.disabled && !element.closest(besides) && !state.done.has(element);
    const choices = [...document.querySelectorAll('select:not([multiple])')].filter(isFree).map(select => [
      select, [...select.options].filter(option => !option.disabled), select.selectedOptions[0],
      option => { select.value = option.value; select.dispatchEvent(new Event('change', {bubbles: true})); },
    ]);
    const radios = [...document.querySelectorAll('input[type="radio"][name]')].filter(radio => !radio.disabled && !radio.closest(besides));
    for (const name of new Set(radios.map(radio => radio.name))) {
      const group = radios.filter(radio => radio.name === name);
      if (!state.done.has(group[0])) choices.push([group[0], group, group.find(radio => radio.checked), radio => radio.click()]);
    }
    const [choice] = choices.filter(([, options, open]) => open && options.length > 1 && state.rounds + options.length <= 12);  // MAX_ROUNDS;
    if (choice) {
      const [control, options, open, set] = choice;
      state.done.add(control);
      state.rounds += options.length - 1;
      state.queue = {control, set, left: [...options.filter(option => option !== open), open]};
      state.observer ??= new MutationObserver(records => records.forEach(({target}) => state.drawn.add(target)));
      state.observer.observe(document.body, {childList: true, characterData: true, subtree: true});
      return choose();
    }
  }
  for (const tab of next) {  // some open where the pointer is, or when it is pressed
    for (const kind of ['mouseover', 'mouseenter', 'mousedown', 'mouseup']) {
      tab.dispatchEvent(new MouseEvent(kind, {bubbles: kind !== 'mouseenter', cancelable: true}));
    }
  }
  for (const element of chosen) { state.done.add(element); element.click(); }
  document.llmsspiderFrame = performance.now() + 2000;  // observers are told with the next frames
  requestAnimationFrame(() => requestAnimationFrame(() => { document.llmsspiderFrame = 0; }));
  return [count, 0];
}
