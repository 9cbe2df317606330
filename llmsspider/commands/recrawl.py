"""`scrapy recrawl SOURCE`: the next crawl of a stored source."""

from llmsspider.commands.crawl import Command as CrawlCommand


class Command(CrawlCommand):
    """`scrapy crawl docs -a source=SOURCE`, with the same options; `-a` overrides what is stored,
    for this run only.
    """

    usage = "[options] <source>"
    word = "source"
