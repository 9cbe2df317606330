"""The functions of the package, for programs: `crawl`, `page`, `resolve`, `documents`, `changes`,
`search`.

In: a URL, or the folder or name of a source. Out: documents. Each crawl is a process of its own.
The command line and `integrations` import it.

    crawls         documents of a crawl that is started
    stored         what the page store has
    folders        which folder stands for a source
    crawl_process  what the process of a crawl is given
"""
