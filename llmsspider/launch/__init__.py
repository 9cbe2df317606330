"""Many sources in one go: the file that lists them, where they are crawled, the result of each.

In: `sources.toml`. Out: a `Result` for each source. The command `sync` (docs/how-to/many-sites.md) imports it. No
Scrapy here: each crawl is a process of its own, started on this machine or by a Scrapyd.
"""
