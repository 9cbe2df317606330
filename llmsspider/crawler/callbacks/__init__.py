"""What the spider `docs` does with each response: `docs.DocsCallbacks` holds every callback that
requests name.

In: responses, and failures of requests. Out: documents and requests. `docs` takes the answers of
pages, `reading` (with `rendering`) reads them, `suspects` finds those that may stand in place of
others, `documents` yields what is published, `link_sources` and `full_text` others, `at_end` what
the last phases need; `requests` makes every request. Spiders and phases import it; the spider
`page` uses `reading` alone.
"""
