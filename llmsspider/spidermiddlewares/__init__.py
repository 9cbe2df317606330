"""Spider middlewares: the start of the crawl.

In: the spider. Out: the requests of the phases (`phases`), in turn. Scrapy loads it.
"""
