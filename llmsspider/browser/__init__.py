"""The browser that renders pages which are empty without JavaScript, and the fence around it.

`handler` is what Scrapy loads; it imports nothing of Playwright until a request asks for the browser. Everything the
browser sends passes `proxy`, which connects where `dialing` lets it (docs/explanation/rendering.md,
docs/explanation/security.md).
"""
