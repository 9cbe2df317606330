// Before the page's scripts: keeps what a script gives to `loadSpec` of an element (RapiDoc).
const define = customElements.define;
customElements.define = function (name, type, ...rest) {
  const load = type.prototype?.loadSpec;
  if (typeof load === 'function') {
    type.prototype.loadSpec = function (spec, ...more) {
      if (typeof spec === 'object') this.llmsspiderSpec = JSON.parse(JSON.stringify(spec));
      return load.call(this, spec, ...more);
    };
  }
  return define.call(this, name, type, ...rest);
};
