"""The browser that renders pages which are empty without JavaScript, behind a filtering proxy.

In: requests with `render`. Out: responses with the rendered HTML. The download handler makes the
`session` of a crawl, which imports Playwright with the first request to render. All traffic of the
browser goes through `proxy`, which connects only to permitted addresses
(docs/explanation/rendering.md, docs/explanation/security.md).
"""
