"""Output about a run, and work beside the crawl, one extension a module: heartbeat, progress, live
page, summary, report, notices of changes.

In: Scrapy's signals and the `Run`. Out: log lines, a display, files, requests to a webhook; the run
is opened by its spider and closed here (`run_summary`). Scrapy loads them by the settings; the
command line imports `console` and `dot_scrapy`.
"""
