"""Spider middlewares: the start of the crawl.

In: the spider. Out: the requests of the phases (`crawl.beginning`, `crawl.ending`), in turn. Scrapy
loads it.
"""
