"""The settings of the project, with the reason for each that differs from Scrapy's default.

The `LLMS_` settings, their defaults and checks are in `config/settings.py`;
docs/reference/settings.md explains them. `from llmsspider.settings import *` takes what `__all__`
names: nothing that changes what spiders of another kind do. Those of this project get the rest from
here (`crawler.spiderrun.ProjectSpider`).
"""

import os

import scrapy.core.downloader.contextfactory  # noqa: F401  # docs/lab/performance.md: late, its import takes four times as long
from scrapy.settings import default_settings as scrapys

from llmsspider import __version__
from llmsspider.config.settings import DEFAULTS, from_environment

BOT_NAME = "llmsspider"
SPIDER_MODULES = ["llmsspider.spiders"]
NEWSPIDER_MODULE = "llmsspider.spiders"
COMMANDS_MODULE = "llmsspider.commands"

globals().update(DEFAULTS | from_environment())  # the `LLMS_` settings

# --- manners and safety (docs/explanation/politeness.md, docs/explanation/security.md) ---
ROBOTSTXT_OBEY = True
USER_AGENT = f"llmsspider/{__version__}"
DEFAULT_REQUEST_HEADERS = {
    "Accept": "text/markdown, text/html;q=0.9, */*;q=0.8",
    "Accept-Language": "en;q=0.9, *;q=0.5",
}
CONCURRENT_REQUESTS_PER_DOMAIN = 8
CONCURRENT_REQUESTS = 16  # twice the above: a page and its Markdown form both occupy a place
RETRY_TIMES = 2
DOWNLOAD_TIMEOUT = 60
DOWNLOAD_MAXSIZE = 32 * 1024 * 1024  # bytes; Scrapy's default is 1 GiB
DOWNLOAD_WARNSIZE = 0
URLLENGTH_LIMIT = 2083
REDIRECT_MAX_TIMES = 10
COOKIES_ENABLED = False
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False  # it runs Python sent over HTTP
DOWNLOAD_HANDLERS_BASE: dict[str, str | None] = {
    **scrapys.DOWNLOAD_HANDLERS_BASE,
    "http": "llmsspider.downloadermiddlewares.download_handler.DownloadHandler",  # Scrapy's; signs, renders
    "https": "llmsspider.downloadermiddlewares.download_handler.DownloadHandler",
    # of the folder that `url` names
    "file": "llmsspider.downloadermiddlewares.local_folder.FolderDownloadHandler",
    "data": None,
    "ftp": None,
    "s3": None,
}
TWISTED_DNS_RESOLVER = "llmsspider.downloadermiddlewares.resolver.AddressGuardResolver"

# --- the browser, which starts with the first page that needs it (docs/explanation/rendering.md)
# ---
PLAYWRIGHT_MAX_PAGES_PER_CONTEXT = 4  # pages rendered at the same time
PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT = 30_000  # milliseconds until the answer for a page begins
PLAYWRIGHT_ABORT_REQUEST = "llmsspider.browser.page_load.is_needless"  # no images, media and fonts
# the browser's own; those of Scrapy would go along with redirects
PLAYWRIGHT_PROCESS_REQUEST_HEADERS = None

# --- the path of a page (docs/explanation/architecture.md) ---
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
DUPEFILTER_CLASS = "llmsspider.crawler.scheduler.PageDupeFilter"
SCHEDULER = "llmsspider.crawler.scheduler.BreadthFirstScheduler"
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"  # first in, first out: breadth-first
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
SCHEDULER_START_DISK_QUEUE = None  # start page and seeds queue with the rest, in their order
SCHEDULER_START_MEMORY_QUEUE = None
# Ours stand in the `_BASE` settings, as Scrapy's own do: what you name in SPIDER_MIDDLEWARES,
# ITEM_PIPELINES and so on is added to them, wherever you name it, and None takes one out
# (docs/how-to/extending.md).
SPIDER_MIDDLEWARES_BASE: dict[str, int | None] = {
    **scrapys.SPIDER_MIDDLEWARES_BASE,
    "llmsspider.spidermiddlewares.llms_txt_start.LlmsTxtStart": 100,
    # the spider sets depth: a link source is no level
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    # looks for a mistake of spiders' authors
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,  # no Referer is sent
    # each one costs a pass over every result
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # Bounds.refusal decides it
}
DOWNLOADER_MIDDLEWARES_BASE: dict[str, int | None] = {
    **scrapys.DOWNLOADER_MIDDLEWARES_BASE,
    "llmsspider.downloadermiddlewares.synthetic.SyntheticMiddleware": 10,
    "llmsspider.downloadermiddlewares.address_guard.AddressGuardMiddleware": 20,
    "llmsspider.downloadermiddlewares.scope.ScopeMiddleware": 40,
    "llmsspider.downloadermiddlewares.robots.RobotsTxtMiddleware": 100,
    "llmsspider.downloadermiddlewares.user_agent.UserAgentMiddleware": 500,
    "llmsspider.downloadermiddlewares.ai_optout.AiOptOutMiddleware": 520,
    "llmsspider.downloadermiddlewares.markdown_negotiation.MarkdownNegotiationMiddleware": 540,
    "llmsspider.downloadermiddlewares.revalidation.RevalidationMiddleware": 545,
    "llmsspider.downloadermiddlewares.backoff.BackoffMiddleware": 560,
    "llmsspider.downloadermiddlewares.meta_refresh.MetaRefreshMiddleware": 580,
    "llmsspider.downloadermiddlewares.http_compression.HttpCompressionMiddleware": 590,
    "llmsspider.downloadermiddlewares.redirect.RedirectMiddleware": 600,
    # before redirects are followed and bodies decompressed
    "llmsspider.downloadermiddlewares.accept_refusal.AcceptRefusalMiddleware": 650,
    "llmsspider.downloadermiddlewares.cookies.CookiesMiddleware": 700,
    "llmsspider.downloadermiddlewares.host_auth.HostAuthMiddleware": 710,  # after the cookies
    "llmsspider.downloadermiddlewares.connection_guard.ConnectionGuardMiddleware": 950,
}
DOWNLOADER_MIDDLEWARES_BASE |= dict.fromkeys(
    (
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",  # the scope decides
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware",
        "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware",
        "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware",
        "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware",
        "scrapy.downloadermiddlewares.redirect.RedirectMiddleware",
        # off by default; ours loads it where it is on
        "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",
    )
)
ITEM_PIPELINES_BASE = {
    "llmsspider.pipelines.filter.FilterPipeline": 100,
    # between these two a document may still change: what the next is given is what is stored
    "llmsspider.pipelines.hash.HashPipeline": 800,
    "llmsspider.pipelines.assets.AssetsPipeline": 850,
    "llmsspider.pipelines.export.ExportPipeline": 900,
}
EXTENSIONS_BASE: dict[str, int | None] = {
    **scrapys.EXTENSIONS_BASE,
    "scrapy.extensions.remote_control.RemoteControl": None,  # off; a web server
    # counts downloads, discovery and attempts included
    "scrapy.extensions.logstats.LogStats": None,
    "llmsspider.extensions.printable_log.PrintableLog": -30,  # before any other logs what a site sent
    # gives the terminal back before the summary
    "llmsspider.extensions.terminal_progress.TerminalProgress": -20,
    "llmsspider.pipelines.outcomes.PipelineOutcomes": -15,  # before the feed exporter, too
    # before Scrapy's feed exporter, which is at 0
    "llmsspider.extensions.run_summary.RunSummary": -10,
    "llmsspider.extensions.heartbeat.Heartbeat": 0,
    # after the summary, which says that documents are there
    "llmsspider.extensions.search_index.SearchIndex": 15,
    "llmsspider.extensions.change_news.ChangeNews": 17,
    # after the summary: its path is the last line
    "llmsspider.extensions.report_writer.ReportWriter": 20,
    "llmsspider.extensions.live_page.LivePage": 30,  # its last event links the report
}
# Scrapy starts as many tasks for each response, and one has one document at most
CONCURRENT_ITEMS = 1
FEED_EXPORTERS_BASE = {
    **scrapys.FEED_EXPORTERS_BASE,
    "jsonlines": "llmsspider.output.feeds.JsonLinesExporter",
    "jsonl": "llmsspider.output.feeds.JsonLinesExporter",
    "jl": "llmsspider.output.feeds.JsonLinesExporter",
    "csv": "llmsspider.output.feeds.CsvExporter",
    "chunks": "llmsspider.output.feeds.ChunksExporter",
    "graph": "llmsspider.output.feeds.GraphExporter",
    "md": "llmsspider.output.feeds.MarkdownExporter",
    "xml": "llmsspider.output.feeds.XmlExporter",
    "parquet": "llmsspider.output.feeds.ParquetExporter",
}

# --- stats, logs and feeds ---
STATS_CLASS = "llmsspider.extensions.stats_collector.PlainStatsCollector"  # Scrapy's, without a check of each call
LOG_LEVEL = "INFO"
LOG_FORMATTER = "llmsspider.extensions.log_formatter.ShortLogFormatter"
FEED_EXPORT_ENCODING = "utf-8"
FEED_STORE_EMPTY = False  # a crawl without a document leaves yesterday's file alone
FEED_STORAGES_BASE = {
    **scrapys.FEED_STORAGES_BASE,
    "": "llmsspider.output.feeds.StagedFileFeedStorage",
    "file": "llmsspider.output.feeds.StagedFileFeedStorage",
    "s3": "llmsspider.output.feeds.StagedS3FeedStorage",
}

# --- manners and safety, what the middlewares need (docs/explanation/politeness.md,
# docs/explanation/security.md) ---
AUTOTHROTTLE_MAX_DELAY = 120.0  # seconds; what a Crawl-delay or Retry-After can require, too
# requests under way at a time to a host with a bound; Scrapy's default is 1
AUTOTHROTTLE_TARGET_CONCURRENCY = 2.0
DOWNLOADER = (  # holds CONCURRENT_REQUESTS_PER_DOMAIN
    "llmsspider.downloadermiddlewares.downloader.Downloader"
)
DOWNLOAD_VERIFY_CERTIFICATES = True  # Scrapy's default is False

# --- jobs of Scrapy Cloud only (docs/how-to/scrapy-cloud.md) ---
if os.environ.get("SHUB_JOBKEY"):
    LLMS_CONVERT_WORKERS = "1"  # the cores are the machine's, the memory is the job's
    # what DotScrapy persistence keeps, where it is not ./.scrapy
    if os.environ.get("DOTSCRAPY_DIR"):
        LLMS_DATA_DIR = os.path.join(os.environ["DOTSCRAPY_DIR"], "llmsspider")  # noqa: PTH118
    EXTENSIONS_BASE |= {
        # beside the platform's own, whose items it takes over
        "llmsspider.extensions.scrapy_cloud.ScrapyCloud": 100,
        "scrapy.extensions.memusage.MemoryUsage": None,
        # the limit is for all processes of the job
        "llmsspider.extensions.job_memory.JobMemory": 0,
    }

__all__ = [
    "COMMANDS_MODULE",
    "SPIDER_MODULES",
]  # what a project takes with `*`: where spiders and commands are,
__all__ += [
    name for name in globals() if name.startswith("LLMS_")
]  # and what our spiders alone read
