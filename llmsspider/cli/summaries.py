"""The commands by name, for the lists of `llmsspider --help` and `scrapy -h`: to list them imports
none.
"""

from llmsspider.web.loading import shipped_table

SUMMARIES: dict[str, str] = shipped_table("llmsspider.cli", "summaries")
