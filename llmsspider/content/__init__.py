"""Bytes in, Markdown out: HTML, Markdown, other formats and API descriptions. No Scrapy."""
