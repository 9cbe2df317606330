"""Where bodies become documents: worker processes, and users' content handlers.

In: body, URL, media type. Out: a `Page`. `crawl`, `config` and `api` import it; it imports `extraction`, `markdown`.
"""
