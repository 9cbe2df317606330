"""Starting crawls: the command line, Python, many sources in one go (docs/how-to/many-sites.md), an
agent, lint.

In: what a user typed or called, `sources.toml`. Out: documents, a `Result` for each source,
findings. Commands import
it. Each crawl is a process of its own, started on this machine or by a Scrapyd.
"""
