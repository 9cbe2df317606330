"""What one crawl knows and decides, without Scrapy: the run, bounds, known pages, deletions, plan,
progress.

In: settings and arguments as values, what the store has of the source, outcomes of requests. Out:
verdicts on URLs, page records, what to delete, the state of the run. `run.Run` is the object that
components share; it holds one object for each concern (`memory`, `coverage`, `outputs`, `recorded`,
`progress` …), and callers ask that one. Scrapy's rooms, `callbacks`, `report` and `output` import
it; it imports `store`, `discovery`, `conversion` and what is below.
"""
