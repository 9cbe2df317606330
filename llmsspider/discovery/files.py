"""Judge and read one llms file: is it one, and is it an index or the documentation itself."""

from __future__ import annotations

import asyncio
from typing import Literal, NamedTuple

from llmsspider import llmsfull, llmstxt
from llmsspider.discovery.model import Answer, LlmsFile, is_full_name
from llmsspider.llmstxt.content import decode

MAX_FULL_BYTES = 200 * 1024 * 1024
"""The largest full-text file that is read, in bytes."""

SAMPLE_BYTES = 2 * 1024 * 1024
"""How much of a file too large for an index is looked at to tell what it is, in bytes."""

_INLINE_BYTES = 256 * 1024
"""Files up to this size are parsed at once; larger ones in a thread."""


class Verdict(NamedTuple):
    """`kind` is None for what is no llms file, and `reason` says why."""

    kind: Literal["index", "full"] | None
    reason: str | None = None


def judge(answer: Answer, asked: str, *, main: bool) -> Verdict:
    """Decide what an answer is.

    A `main` file, found by probing, is full text only when it is delimited into pages or lists none:
    long prose with links is still an index there.
    """
    if answer.error is not None:
        return Verdict(None, answer.message or answer.error)
    if answer.size > MAX_FULL_BYTES:
        return Verdict(None, "larger than 200 MB")
    is_large = answer.size > llmstxt.MAX_BYTES
    body = answer.head(SAMPLE_BYTES if is_large else llmstxt.MAX_BYTES)
    content_type = answer.headers.get("content-type")
    reason = llmstxt.reject_reason(answer.status, asked, answer.final_url, content_type, body)
    if reason is not None:
        return Verdict(None, reason)
    text = decode(body[:SAMPLE_BYTES])
    kind = llmstxt.classify(text)
    if kind == "index" and is_full_name(asked) and llmsfull.looks_split(text, asked, named=True):
        kind = "full"
    if main and kind == "full" and _lists_links(text) and not llmsfull.looks_split(text):
        kind = "index"
    if is_large and kind == "index":
        return Verdict(None, "larger than 20 MB")
    return Verdict(kind)


def _lists_links(text: str) -> bool:
    return (
        "](" in text
        or "://" in text
        or bool(llmstxt.parse(text[:_INLINE_BYTES], "https://site.invalid/").entries)
    )


async def read(answer: Answer, kind: Literal["index", "full"]) -> LlmsFile:
    """Parse a file that was judged; full text is not searched for entries unless it is short."""
    if kind == "full" and answer.size > SAMPLE_BYTES:
        return LlmsFile(answer.final_url, kind, None, None, "", ())
    text = answer.text
    if len(text) > _INLINE_BYTES:
        parsed = await asyncio.to_thread(llmstxt.parse, text, answer.final_url)
    else:
        parsed = llmstxt.parse(text, answer.final_url)
    kept = text if kind == "index" else ""
    return LlmsFile(
        answer.final_url,
        kind,
        parsed.title,
        parsed.summary,
        kept,
        parsed.entries,
        parsed.warnings,
        parsed.invalid if kind == "index" else (),
        parsed.notes if kind == "index" else None,
    )
