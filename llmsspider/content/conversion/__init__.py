"""Conversion of response bodies to `Page` objects, in worker processes or by content handlers of users.

Input: a response body with its URL and its charset or media type. Output: a picklable `Page`; a failure raises
`ConversionError`. `crawl`, `config` and `api` import this package; it imports `extraction`, `markdown`,
`openapi` and `formats`.
"""
