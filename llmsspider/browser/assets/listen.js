// Before the page's scripts. Keeps what a script gives to `loadSpec` of an element (RapiDoc), opens shadow roots,
// answers for the service worker, which is blocked, notes sockets without a message yet and a program that listens
// for routes, counts the timers that a page may draw itself by, and keeps what text its HTML had.
{
  const MOST_MS = 5000;  // a longer timer is not waited for
  const BEGIN_MS = 1000;  // nor is one that is set later than this after the page has loaded
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
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) { return attach.call(this, {...options, mode: 'open'}); };
  const internals = HTMLElement.prototype.attachInternals;
  HTMLElement.prototype.attachInternals = function () {  // a closed root that the HTML declares
    const found = internals.call(this);
    if (found.shadowRoot && !this.shadowRoot) Object.defineProperty(this, 'shadowRoot', {value: found.shadowRoot});
    return found;
  };
  if (navigator.serviceWorker) {
    const worker = Object.assign(new EventTarget(), {state: 'activated', scriptURL: '', postMessage() {}});
    const registration = Object.assign(new EventTarget(), {
      active: worker, installing: null, waiting: null, scope: `${location.origin}/`,
      update: async () => registration, unregister: async () => true,
    });
    Object.defineProperties(navigator.serviceWorker, {
      ready: {value: Promise.resolve(registration)}, controller: {value: worker},
      register: {value: async () => registration}, getRegistration: {value: async () => registration},
    });
  }
  const silent = (document.llmsspiderSilent = new Map());
  for (const name of ['EventSource', 'WebSocket']) {
    window[name] = class extends window[name] {
      constructor(...given) {
        super(...given);
        silent.set(this.url, performance.now());
        for (const kind of ['message', 'error', 'close']) this.addEventListener(kind, () => silent.delete(this.url), {once: true});
      }
    };
  }
  const listen = EventTarget.prototype.addEventListener;
  window.addEventListener = function (type, ...rest) {
    if (type === 'hashchange') document.llmsspiderRoutes = true;
    return listen.call(this ?? window, type, ...rest);
  };
  const timers = (document.llmsspiderTimers = new Set());
  const later = window.setTimeout;
  const forget = window.clearTimeout;
  let loaded = Infinity;
  addEventListener('load', () => { loaded = performance.now(); });
  window.setTimeout = function (call, ms, ...rest) {
    const counts = ms <= MOST_MS && performance.now() - loaded < BEGIN_MS;
    const id = later.call(window, call, ms, ...rest);
    if (counts) {
      timers.add(id);
      later.call(window, () => timers.delete(id), ms);
    }
    return id;
  };
  window.clearTimeout = function (id) { timers.delete(id); forget.call(window, id); };
  document.addEventListener('readystatechange', () => {
    document.llmsspiderShown ??= document.body?.innerText.trim().length;
    document.llmsspiderGiven ??= document.body && new Map([...document.body.children].map(part => [part, part.textContent]));
  });
}
