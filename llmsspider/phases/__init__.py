"""The phases of a crawl: discovery, the seeds, what only the end can tell; in this order.

In: the `Phase` of a crawl (its run, spider, fetch). Out: requests, each phase when the one before is through. Each
can be read and run by itself. Spider middlewares import it.
"""
