"""The browser that renders pages which are empty without JavaScript, behind a proxy that guards its requests.

In: requests with `render`. Out: responses with the rendered HTML. Scrapy loads `handler` (`DOWNLOAD_HANDLERS`), which
imports Playwright with the first request to render. All traffic of the browser passes `proxy`, which connects where
`outbound` permits it (docs/explanation/rendering.md, docs/explanation/security.md).
"""
