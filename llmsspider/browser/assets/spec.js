// The OpenAPI description that an element was given by a script, as JSON; '' for none.
where => {
  const plain = value => {
    try { if (typeof value === 'string') value = JSON.parse(value); } catch { return value; }
    return typeof value?.toJS === 'function' ? value.toJS() : value;
  };
  const isApi = value => value && (value.openapi || value.swagger) && value.paths;
  const text = value => typeof value === 'string' ? value : JSON.stringify(value);
  const ofFibers = root => {
    const key = Object.keys(root).find(name => name.startsWith('__reactContainer') || name.startsWith('__reactFiber'));
    const waiting = [key && (root[key].stateNode?.current ?? root[key]) || root._reactRootContainer?._internalRoot?.current];
    for (let count = 0; waiting.length && count < 5000; count++) {
      const fiber = waiting.shift();
      if (!fiber) continue;
      const props = fiber.memoizedProps ?? {};
      for (const value of [props.specSelectors?.specJson?.(), ...Object.values(props)]) {
        const spec = plain(value);
        if (isApi(spec)) return spec;
        if (isApi(spec?.spec)) return spec.spec;
      }
      waiting.push(fiber.child, fiber.sibling);
    }
    return null;
  };
  for (const element of document.querySelectorAll(where)) {
    for (const value of [element.llmsspiderSpec, element.apiDescriptionDocument]) {
      const spec = plain(value);
      if (isApi(spec) || (typeof spec === 'string' && /^(openapi|swagger):/m.test(spec))) return text(spec);
    }
    for (const root of [element, element.parentElement, ...element.querySelectorAll(':scope > div')]) {
      const spec = root && ofFibers(root);
      if (spec) return text(spec);
    }
  }
  return '';
}
