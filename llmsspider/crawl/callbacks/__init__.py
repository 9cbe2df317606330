"""What the spider `docs` does with each response: `docs.DocsCallbacks` holds every callback that requests name.

In: responses, and failures of requests. Out: documents and requests. The callbacks call plain objects, one concern a
module: `answers`, `reading` (with `stubs`, `rendering`), `pages`, `documents`, `link_sources` are the steps of a page
in order; `requests` makes every request; `failures`, `suspects` (with `Verification`) and `full_text` handle the
remaining kinds of responses. Spiders and phases import it; the spider `page` uses `reading` alone.
"""
