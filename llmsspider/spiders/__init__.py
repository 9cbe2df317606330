"""The spiders: `docs` crawls a documentation site, `page` gets one page.

In: arguments (`arguments`), settings. Out: their `Run`, and what `callbacks` yield for each
response. Scrapy loads them by name; a project of yours derives from `docs.DocsSpider`. The command
line and `lint` import them.
"""
