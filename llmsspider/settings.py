"""The settings of the project, with the reason for each that differs from Scrapy's default.

The `LLMS_` settings are explained in docs/settings.md; `llmsspider.config` reads and checks them.
"""

import os

from scrapy.settings import default_settings as scrapys

from llmsspider import __version__
from llmsspider.jobs import on_scrapy_cloud

BOT_NAME = "llmsspider"
SPIDER_MODULES = ["llmsspider.spiders"]
NEWSPIDER_MODULE = "llmsspider.spiders"
COMMANDS_MODULE = "llmsspider.commands"

# --- discovery ---
LLMS_DISCOVERY_ENABLED = True  # probe llms.txt, llms-full.txt and sitemaps before the first page
LLMS_DISCOVERY_TIMEOUT = 20  # seconds one discovery request may take
LLMS_LINK_DEPTH = 1  # levels of linked llms.txt files to read; 0 reads the first file only
LLMS_MAX_LINKED_FILES = 50  # linked llms.txt files to read at most
LLMS_PLAN_ONLY = False  # stop after discovery and store nothing; set by `scrapy plan`
LLMS_FULL_TEXT = "auto"  # use llms-full.txt where there is one; "off" ignores it

# --- pages ---
LLMS_MAX_LOOK_ALIKES = (
    1000  # pages whose URLs differ in numbers only that may bring nothing new; 0 for any number
)
LLMS_FULL_CHECK = 14  # every page is fetched without validators once in so many runs; 0 for never
LLMS_CONFIRM_RUNS = 2  # complete runs in a row after which held pages that are gone are deleted; 0 for never
LLMS_MAX_FAILED_SHARE = (
    0.1  # share of pages that may fail in a run that counts as complete; one page always may
)
LLMS_HISTORY = 5  # earlier contents of a page that are kept; or "90 days"; 0 for none
LLMS_REVALIDATE_METHOD = "GET"  # how stored pages are asked whether they changed; or "HEAD"

# --- conversion ---
LLMS_CONVERTER = "native"  # or "html-to-markdown", "markdownify"
LLMS_CONVERT_WORKERS = "auto"  # processes that convert HTML; 0 converts in the crawling process
LLMS_CONVERT_TIMEOUT = 60  # seconds one page may take in a worker
LLMS_CSV_FORMULAS = (
    "escape"  # cells of CSV that a spreadsheet would calculate; "keep" leaves them as they are
)
LLMS_SHARED_TEXT = "keep"  # text that most pages begin or end with; "drop" leaves it out
LLMS_HIDDEN_TEXT = "drop"  # text that no reader of a page sees; "keep" keeps it
LLMS_MAX_GROWTH = 16  # characters of Markdown that one byte of a page may become, beyond a million
LLMS_MIN_CHARACTERS = 1  # documents with less text are dropped as empty

# --- classes of your own (docs/handlers.md, docs/store.md) ---
LLMS_CONTENT_HANDLERS: dict[str, str] = {}  # by media type, the class that makes Markdown of such answers
LLMS_STORE_CLASS = "llmsspider.store.Store"  # keeps the pages

# --- what is happening (docs/progress.md) ---
LLMS_REPORT = None  # HTML file, or folder, for the report of a run and its run.json
LLMS_STATUS_PORT = "auto"  # live page on 127.0.0.1 where stderr is a terminal; a port, a range, or "off"
LLMS_PROGRESS = "auto"  # a live display where stderr is a terminal; "plain" logs lines only

# --- output (docs/mirror.md) ---
LLMS_MIRROR_DIR = None  # folder of a Markdown tree that is kept in step; "%(source)s" in it is the source
LLMS_MIRROR_LINKS = "relative"  # links between its pages; "absolute" leaves them as they are
LLMS_CHUNK_SIZE = 2000  # size of a chunk at most, where code and tables allow (docs/chunks.md)
LLMS_CHUNK_UNIT = "characters"  # what it is counted in; or "tokens", or the path of a function

# --- search (docs/search.md) ---
LLMS_SEARCH_INDEX = (
    "auto"  # a crawl brings the index of a source in step that was searched before; "on", "off"
)
LLMS_EMBEDDER = None  # the path of a class that turns texts into vectors

# --- manners and safety (docs/politeness.md, docs/security.md) ---
LLMS_OBEY_AI_OPTOUT = True  # leave out pages whose publisher opted out of AI use
LLMS_OBEY_NOINDEX = False  # noindex is for search engines; True leaves those pages out as well
LLMS_ALLOW_PRIVATE_ADDRESSES = False  # True, or hosts and networks such as "127.0.0.1,10.1.0.0/16"
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
DOWNLOAD_HANDLERS = {
    "http": "llmsspider.browser.handler.BrowserDownloadHandler",  # Scrapy's own, and a browser for who asks for it
    "https": "llmsspider.browser.handler.BrowserDownloadHandler",
    "file": None,
    "data": None,
    "ftp": None,
    "s3": None,
}
TWISTED_DNS_RESOLVER = "llmsspider.resolver.AddressGuardResolver"

# --- several workers (docs/workers.md) ---
LLMS_REDIS_URL = None  # where the workers of one crawl meet; also read from the environment

# --- one page (docs/page-spider.md) ---
LLMS_PAGE_PROVIDERS = ["llmsspider.providers.GitHub"]  # sites whose Markdown is known by a page's URL alone

# --- the browser, which starts with the first page that needs it (docs/rendering.md) ---
PLAYWRIGHT_MAX_PAGES_PER_CONTEXT = 4  # pages drawn at the same time
PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT = 30_000  # milliseconds until the answer for a page begins
PLAYWRIGHT_ABORT_REQUEST = "llmsspider.browser.settling.is_needless"  # no images, media and fonts
PLAYWRIGHT_PROCESS_REQUEST_HEADERS = None  # the browser's own; those of Scrapy would go along with redirects

# --- the path of a page (docs/architecture.md) ---
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
DUPEFILTER_CLASS = "llmsspider.dupefilter.PageDupeFilter"
SCHEDULER = "llmsspider.scheduler.BreadthFirstScheduler"
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"  # first in, first out: breadth-first
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
SCHEDULER_START_DISK_QUEUE = None  # start page and seeds queue with the rest, in their order
SCHEDULER_START_MEMORY_QUEUE = None
# Ours stand in the `_BASE` settings, as Scrapy's own do: what you name in SPIDER_MIDDLEWARES, ITEM_PIPELINES and so on
# is added to them, wherever you name it, and None takes one out (docs/extending.md).
SPIDER_MIDDLEWARES_BASE: dict[str, int | None] = {
    **scrapys.SPIDER_MIDDLEWARES_BASE,
    "llmsspider.spidermiddlewares.llms_txt_start.LlmsTxtStart": 100,
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,  # the spider sets depth: a link source is no level
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,  # looks for a mistake of spiders' authors
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,  # no Referer is sent
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,  # each one costs a pass over every result
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # Run.verdict judges it
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
    "llmsspider.downloadermiddlewares.redirect.MetaRefreshMiddleware": 580,
    "llmsspider.downloadermiddlewares.compression.HttpCompressionMiddleware": 590,
    "llmsspider.downloadermiddlewares.redirect.RedirectMiddleware": 600,
    "llmsspider.downloadermiddlewares.cookies.CookiesMiddleware": 700,
    "llmsspider.downloadermiddlewares.auth.HostAuthMiddleware": 710,  # after the cookies, which rebuild the header
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
        "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",  # off by default; ours loads it where it is on
    )
)
ITEM_PIPELINES_BASE = {
    "llmsspider.pipelines.filter.FilterPipeline": 100,
    # between these two a document may still change: what the next is given is what is stored
    "llmsspider.pipelines.hash.HashPipeline": 800,
    "llmsspider.pipelines.export.ExportPipeline": 900,
}
EXTENSIONS_BASE: dict[str, int | None] = {
    **scrapys.EXTENSIONS_BASE,
    "scrapy.extensions.remote_control.RemoteControl": None,  # off; a web server
    "scrapy.extensions.logstats.LogStats": None,  # counts downloads, discovery and attempts included
    "llmsspider.extensions.printable_log.PrintableLog": -30,  # before any other logs what a site sent
    "llmsspider.extensions.terminal.TerminalProgress": -20,  # gives the terminal back before the summary
    "llmsspider.extensions.run_summary.RunSummary": -10,  # before Scrapy's feed exporter, which is at 0
    "llmsspider.extensions.heartbeat.Heartbeat": 0,
    "llmsspider.extensions.search_index.SearchIndex": 15,  # after the summary, which says that documents are there
    "llmsspider.extensions.report.RunReport": 20,  # after the summary: its path is the last line
    "llmsspider.extensions.live_page.LivePage": 30,  # its last event links the report
}
CONCURRENT_ITEMS = 1  # Scrapy starts as many tasks for each response, and one has one document at most
FEED_EXPORTERS_BASE = {
    **scrapys.FEED_EXPORTERS_BASE,
    "jsonlines": "llmsspider.exporters.JsonLinesExporter",
    "jsonl": "llmsspider.exporters.JsonLinesExporter",
    "jl": "llmsspider.exporters.JsonLinesExporter",
    "csv": "llmsspider.exporters.CsvExporter",
    "chunks": "llmsspider.exporters.ChunksExporter",
    "graph": "llmsspider.exporters.GraphExporter",
    "parquet": "llmsspider.exporters.ParquetExporter",
}

# --- logs and feeds ---
LOG_LEVEL = "INFO"
LOG_FORMATTER = "llmsspider.extensions.log_formatter.ShortLogFormatter"
FEED_EXPORT_ENCODING = "utf-8"
FEED_STORE_EMPTY = False  # a crawl without a document leaves yesterday's file alone
FEED_STORAGES_BASE = {
    **scrapys.FEED_STORAGES_BASE,
    "": "llmsspider.feedstorage.StagedFileFeedStorage",
    "file": "llmsspider.feedstorage.StagedFileFeedStorage",
    "s3": "llmsspider.s3storage.StagedS3FeedStorage",
}

# --- manners and safety, what the middlewares need (docs/politeness.md, docs/security.md) ---
LLMS_CONTACT = None  # e-mail address or URL of whoever runs the crawl, added to the user agent
LLMS_MAX_WAIT = (
    120  # seconds a Crawl-delay or Retry-After can make us wait; a host that wants more is left alone
)
LLMS_MAX_RATE = None  # requests a second to one host; not set, 5 to public hosts; 0 is no bound
AUTOTHROTTLE_TARGET_CONCURRENCY = (
    2.0  # requests under way at a time to a host with a bound; Scrapy's default is 1
)
LLMS_HTTP_AUTH = None  # headers by host for private documentation; also read from the environment
DOWNLOADER = (
    "llmsspider.downloader.Downloader"  # holds CONCURRENT_REQUESTS_PER_DOMAIN, which Scrapy 2.19 does not
)
DOWNLOAD_VERIFY_CERTIFICATES = True  # Scrapy's default is False

# --- jobs of Scrapy Cloud only (docs/scrapy-cloud.md) ---
if on_scrapy_cloud():
    LLMS_CONVERT_WORKERS = "1"  # the cores are the machine's, the memory is the job's
    if os.environ.get("DOTSCRAPY_DIR"):  # what DotScrapy persistence keeps, where it is not ./.scrapy
        LLMS_DATA_DIR = os.path.join(os.environ["DOTSCRAPY_DIR"], "llmsspider")  # noqa: PTH118
    EXTENSIONS = {
        "sh_scrapy.extension.HubstorageExtension": None
    }  # in `_BASE`, by the platform; the next one makes it
    EXTENSIONS_BASE |= {
        "llmsspider.extensions.scrapy_cloud.ScrapyCloud": 100,
        "scrapy.extensions.memusage.MemoryUsage": None,
        "llmsspider.extensions.job_memory.JobMemory": 0,  # the limit is for all processes of the job
    }
