"""Downloader middlewares, one a module.

In: requests on their way out, responses on their way in; what a component needs of the crawl it
gets from the `Run`. docs/explanation/security.md and docs/explanation/politeness.md say what each
promises. Scrapy loads it.
"""
