// Returns address, number of elements and of characters of text, and whether something may draw what is missing: a
// socket of the last two seconds, or a timer where the page shows less than `enough`, or what it showed before its
// scripts.
enough => {
  const roots = [document];
  let elements = 0, shown = document.body ? document.body.innerText.trim().length : 0;
  for (let root; (root = roots.pop()); ) {
    const all = root.querySelectorAll('*');
    elements += all.length;
    if (root !== document) shown += root.textContent.trim().length;
    for (const element of all) if (element.shadowRoot) roots.push(element.shadowRoot);
  }
  for (const frame of document.querySelectorAll('iframe')) {
    elements += frame.contentDocument?.querySelectorAll('*').length ?? 0;
  }
  const isBegun = shown >= enough && shown !== document.llmsspiderShown;
  const sockets = [...(document.llmsspiderSilent?.values() ?? [])];
  const isDue = sockets.some(since => performance.now() - since < 2000) || (!isBegun && document.llmsspiderTimers?.size > 0);
  return [location.href, elements, shown, isDue];
}
