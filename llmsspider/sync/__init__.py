"""Many sources in one go: the file that lists them, the places that crawl them, and what came of it.

`scrapy sync sources.toml` (docs/how-to/many-sites.md) is the command over it. No Scrapy here: each crawl is a process
of its own, started on this machine or by a Scrapyd.
"""
