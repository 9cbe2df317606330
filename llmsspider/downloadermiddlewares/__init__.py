"""Downloader middlewares. docs/security.md and docs/politeness.md say what each promises."""
