// The frames of a page that shows next to nothing besides: loads them (step `enter`), opens their closed parts (`open`), or
// puts their text in their place (`read`). What a frame's own style hides is left out. Returns how many.
(step, most, enough) => {
  if (step === 'enter') {
    const copy = (document.querySelector('main') ?? document.body)?.cloneNode(true);
    copy?.querySelectorAll('nav, header, footer, aside, script, style, noscript').forEach(part => part.remove());
    if (!copy || copy.textContent.trim().length >= enough) return 0;
    for (const part of document.querySelectorAll(':is(object[data], embed[src]):not([type]:not([type="text/html"]))')) {
      part.replaceWith(Object.assign(document.createElement('iframe'), {src: part.data ?? part.src}));
    }
    const own = [...document.querySelectorAll('iframe')].filter(frame => new URL(frame.src, location.href).origin === location.origin).slice(0, most);
    for (const frame of own) {
      frame.removeAttribute('sandbox');
      if (frame.src && !frame.srcdoc) frame.src = frame.src;
    }
    return own.length;
  }
  const frames = [...document.querySelectorAll('iframe')];
  if (step === 'open') {
    const closed = frames.flatMap(frame => [...(frame.contentDocument?.querySelectorAll('button[aria-expanded="false"]') ?? [])])
      .filter(button => !button.closest('nav, header, footer, aside, form, [role="dialog"]'));
    for (const button of closed.slice(0, most * most)) button.click();
    return closed.length;
  }
  const isShown = element => element.getClientRects().length > 0 || getComputedStyle(element).display === 'contents';
  const replace = frame => {
    const body = frame.contentDocument?.body;
    if (!body) return;
    for (const inner of [...body.querySelectorAll('iframe')].filter(isShown)) replace(inner);
    if (!body.textContent.trim()) return;
    const part = frame.ownerDocument.createElement('section');
    const shown = [...body.childNodes].filter(node => node.nodeType !== 1 || isShown(node));
    part.append(...shown.map(node => node.cloneNode(true)));
    part.querySelectorAll('script').forEach(script => script.remove());
    frame.replaceWith(part);
  };
  frames.filter(isShown).forEach(replace);
  return frames.length;
}
