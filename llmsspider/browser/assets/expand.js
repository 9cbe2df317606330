// Expands the parts of an API reference, and answers a question about cookies on a page that shows next to nothing
// besides: by no, else by yes. Returns how many elements were clicked.
(where, most, enough) => {
  let opened = 0;
  const dialogs = '[role$="dialog"], dialog[open], [class*="consent"], [id*="consent"], [class*="cookie"]';
  const isShort = document.body?.innerText.length < enough;
  const dialog = isShort ? document.body : document.body?.querySelector(dialogs);
  if (dialog && /cookie|consent|privacy/i.test(dialog.textContent)
    && document.body.innerText.length - dialog.innerText.length < enough) {
    const buttons = [...dialog.querySelectorAll('button:not([type="submit"]), [role="button"]')];
    const no = /^(?:reject|decline|refuse|deny|only|(?:alle )?ablehnen|(?:tout )?refuser|rechazar|rifiuta|recusar|拒否|отклонить)/i;
    const yes = new RegExp('^(?:(?:i )?(?:accept|agree|allow|got it|ok|continue)\\b|(?:alle[ns]? )?(?:akzeptieren|zustimmen|erlauben)'
      + '|(?:tout )?accepter|j.accepte|aceptar|acepto|accett[ao]|aceitar|同意|принять)', 'i');
    for (const answer of [no, yes]) {
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
