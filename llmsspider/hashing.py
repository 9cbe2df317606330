"""Hashes of bodies and of content: what "changed" means."""

from __future__ import annotations

import hashlib


def content_hash(content: str) -> str:
    """Return the SHA-256 (hex) of `Document.content`, which is already normalised."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def raw_hash(body: bytes) -> str:
    """Return the SHA-256 (hex) of a response body."""
    return hashlib.sha256(body).hexdigest()
