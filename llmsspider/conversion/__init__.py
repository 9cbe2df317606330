"""Where the body of an answer becomes a `Page`: worker processes, and the content handlers of users.

In comes a body with its URL, charset or media type. Out comes a picklable `Page`, or a `ConversionError`.
`crawl`, `config` and `api` import the room; it imports `extraction`, `markdown`, `openapi` and `formats`.
"""
