// Returns address, number of elements and of characters of text, whether something may draw what is missing, and the
// text where it is short. What may draw is a socket without a message or the frame after a change, for two seconds;
// `{{ title }}` as the headline, for five; a timer where the page shows less than `enough`, or what it showed before
// its scripts.
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
  const isTemplate = /^\s*\{\{[^{}]+\}\}\s*$/.test(document.querySelector('h1')?.textContent);
  const isBegun = shown >= enough && shown !== document.llmsspiderShown;
  const seen = `${elements} ${shown}`;
  if (seen !== document.llmsspiderSeen) {
    document.llmsspiderSeen = seen;
    document.llmsspiderFrame = performance.now() + 2000;
    requestAnimationFrame(() => { document.llmsspiderFrame = 0; });
  }
  if (isTemplate) document.llmsspiderTemplate ??= performance.now() + 5000;
  const ends = [...(document.llmsspiderSilent?.values() ?? [])].map(since => since + 2000);
  ends.push(document.llmsspiderFrame, isTemplate ? document.llmsspiderTemplate : 0);
  const isDue = ends.some(end => performance.now() < end) || (!isBegun && document.llmsspiderTimers?.size > 0);
  return [location.href, elements, shown, isDue, shown < enough && document.body?.innerText];
}
