// Expands the parts of an API reference, and answers a question about cookies on a page that shows next to nothing
// besides: by no, else by yes. Returns how many elements were clicked.
(where, most, enough) => {
  let opened = 0;
  const dialog = document.querySelector('body [role="dialog"], dialog[open], body [class*="consent"], body [id*="consent"], body [class*="cookie"]');
  if (dialog && /cookies|consent|privacy/i.test(dialog.textContent)
    && document.body.innerText.length - dialog.innerText.length < enough) {
    const buttons = [...dialog.querySelectorAll('button:not([type="submit"]), [role="button"]')];
    for (const answer of [/^(?:reject|decline|refuse|deny|only)\b/i, /^(?:i )?(?:accept|agree|allow|got it|ok|continue)\b/i]) {
      const button = buttons.find(button => button.isConnected && answer.test(button.textContent.trim()));
      if (button) { button.click(); opened++; }
    }
  }
  const roots = [...document.querySelectorAll(where)];
  for (let root; (root = roots.pop()); ) {
    if (root.shadowRoot) roots.push(root.shadowRoot);
    for (const part of root.querySelectorAll('button[aria-expanded="false"]')) {
      if (opened < most && !part.closest('form, [role="dialog"]')) { part.click(); opened++; }
    }
  }
  return opened;
}
