"""Spider middlewares: the start of the crawl.

In: the spider. Out: the requests of the phases (`crawler.beginning`, `crawler.ending`), in turn.
Scrapy loads it.
"""
