"""What one crawl knows and decides, without Scrapy: the run, bounds, known pages, deletions, plan, progress.

In: settings and arguments as values, what the store knew before, outcomes of requests. Out: verdicts, page records,
what to delete, snapshots of progress. `run.Run` is the object that components share. Scrapy's rooms, `callbacks`,
`report` and `output` import it; it imports `store`, `discovery`, `conversion` and what is below them.
"""
