"""The commands by name, for the lists of `llmsspider --help` and `scrapy -h`: to list them imports
none.
"""

SUMMARIES = {
    "convert": "Print a file or page as Markdown: HTML, PDF, Word, PowerPoint, Excel, EPUB",
    "crawl": "Run a spider",
    "delete": "Delete a source and everything stored of it",
    "demo": "Serve a tiny documentation site on this machine, to try things on",
    "diff": "Show what changed in the documentation of a source",
    "doctor": "Say what works here, and what to do where it does not",
    "export": "Export the stored documents of a source",
    "init": "Make a project of your own: settings, a pipeline, sources, deploy files",
    "lint": "Check an llms.txt, and the site it describes",
    "mcp": "Let agents search and read the crawled documentation",
    "page": "Print one page as Markdown",
    "parse": "Parse URL (using its spider) and print the results",
    "plan": "Show what a crawl of a URL or source would find, take and filter; nothing is stored",
    "recrawl": "Crawl a stored source again; only what changed is fetched",
    "search": "Search the stored documents of a source",
    "sign": "Make a key for signed requests, or the directory that sites read its public half from",
    "sources": "List the sources in the page store",
    "status": "Show what a crawl is doing, or how the last one ended",
    "sync": "Crawl every source of a file, here or on Scrapyd nodes",
    "ui": "Show sources, search, pages and changes as a local web page",
}
