"""Spider middlewares: the start of the crawl."""
