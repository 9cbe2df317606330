"""One site, several workers: what they share in a Redis (`LLMS_REDIS_URL`, docs/how-to/workers.md).

In: requests, outcomes of pages. Out: one queue, one set of seen pages, one end. `worker_group` has the rules and no
Scrapy; `scheduler` is the glue on top of scrapy-redis and needs the extra "redis". The start of the crawl imports it.
"""
