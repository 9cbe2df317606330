"""How requests are ordered and downloaded: the scheduler, page identity, the downloader.

In: requests of the spider. Out: their order, each page once, answers. Spiders and callbacks import it.
"""
