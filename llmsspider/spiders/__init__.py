"""The spiders: `docs` crawls a documentation site."""
