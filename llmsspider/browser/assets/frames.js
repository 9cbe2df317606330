// The frames of a page that shows next to nothing besides: loads them (`enter`), or puts their text in their place.
// Returns how many.
(enter, most, enough) => {
  const frames = [...document.querySelectorAll('iframe')];
  if (enter) {
    const copy = document.body?.cloneNode(true);
    copy?.querySelectorAll('nav, header, footer, aside, script, style, noscript').forEach(part => part.remove());
    if (!copy || copy.textContent.trim().length >= enough) return 0;
    const own = frames.filter(frame => new URL(frame.src, location.href).origin === location.origin).slice(0, most);
    for (const frame of own) if (frame.src && !frame.srcdoc) frame.src = frame.src;
    return own.length;
  }
  let count = 0;
  for (const frame of frames.filter(frame => frame.getClientRects().length > 0)) {
    const body = frame.contentDocument?.body;
    if (!body?.textContent.trim()) continue;
    const part = document.createElement('section');
    part.innerHTML = body.innerHTML;
    part.querySelectorAll('script').forEach(script => script.remove());
    frame.replaceWith(part);
    count++;
  }
  return count;
}
