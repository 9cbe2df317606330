"""The parts of a run, by their types: what its components declare that they use. No Scrapy."""

from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.content.conversion import ConversionPool
from llmsspider.crawler.addresses import Addresses
from llmsspider.crawler.assets import Assets
from llmsspider.crawler.bot_walls import Suspects
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.deletions import Moves
from llmsspider.crawler.known_pages import KnownPages, RecordedPages
from llmsspider.crawler.learn import Learners
from llmsspider.crawler.progress import Coverage, Outputs, PageLimit, Progress
from llmsspider.crawler.readings import Readings
from llmsspider.crawler.records import Records
from llmsspider.crawler.report import Reporter
from llmsspider.crawler.revisit import Ledger
from llmsspider.crawler.settle import Waiting
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.crawler.source_memory import SourceMemory
from llmsspider.crawler.uses import UsesRun
from llmsspider.web.rights import SiteRights

__all__ = [
    "Addresses",
    "Assets",
    "Bounds",
    "Config",
    "ConversionPool",
    "Coverage",
    "DocsArguments",
    "KnownPages",
    "Learners",
    "Ledger",
    "Moves",
    "Outputs",
    "PageLimit",
    "Progress",
    "Readings",
    "RecordedPages",
    "Records",
    "Reporter",
    "SiteKnowledge",
    "SiteRights",
    "SourceMemory",
    "Suspects",
    "UsesRun",
    "Waiting",
]
