"""The web as a crawl meets it: URLs, hosts, scope, media types, outcomes, addresses, credentials.

In: URLs, headers, bodies, settings. Out: values and verdicts. Nothing here knows a run or a store,
and nothing fetches. Every other room may import it; it imports `errors` and `items` only.
"""
