"""The phases of a crawl in their order: discovery, the seeds, and those that follow when all pages are through.

In: the `Phase` of a crawl (its run, spider, fetch). Out: requests; a phase begins when nothing of the one before is
under way. Each phase is a function that can be read and tested alone. Spider middlewares import it.
"""
