"""Downloader middlewares. docs/explanation/security.md and docs/explanation/politeness.md say what each promises."""
