"""One site, several workers: what they share in a Redis (`LLMS_REDIS_URL`, docs/workers.md).

`crew` has the rules and no Scrapy, `found` is what the first worker hands to the others; `frontier`, `scheduler` and
`dupefilter` are the glue, on top of scrapy-redis. Importing the glue needs the extra "redis".
"""
