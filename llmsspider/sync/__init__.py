"""Many sources in one go (docs/how-to/many-sites.md).

In: `sources.toml`, places that crawl: this machine, or nodes of Scrapyd. Out: a `Result` for each
source. No Scrapy; only the command `sync` imports it.

    nightly  each source once, on whichever place is free
    local    crawls in processes of this machine
    node     crawls as jobs of a Scrapyd
    results  what became of each source
    lock     one sync at a time
"""
