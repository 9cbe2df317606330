(where, most) => {
  let opened = 0;
  const roots = [...document.querySelectorAll(where)];
  for (let root; (root = roots.pop()); ) {
    if (root.shadowRoot) roots.push(root.shadowRoot);
    for (const part of root.querySelectorAll('button[aria-expanded="false"]')) {
      if (opened < most && !part.closest('form, [role="dialog"]')) { part.click(); opened++; }
    }
  }
  return opened;
}
