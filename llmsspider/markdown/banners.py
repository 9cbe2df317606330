"""Banners for agents at the head or foot of a Markdown page: text about the site's llms.txt, not about the page."""

from __future__ import annotations

import re

_ABOUT_INDEX = re.compile(
    r"documentation index|complete (?:documentation )?index|discover all available pages|llms(?:-full)?\.txt|"
    r"append(?:ing)? [`'\"]?\.md|markdown versions? of",
    re.IGNORECASE,
)
_LLMS_URL = re.compile(r"llms(?:-[\w.]+)?\.(?:txt|md)\b", re.IGNORECASE)
_TO_AGENTS = re.compile(
    r"\b(?:fetch|for (?:the |a )?(?:complete|full|clean)|use this file|documentation index|are available|available as|"
    r"see the|LLMs?|AI (?:agents?|tools?|assistants?)|agents?)\b",
    re.IGNORECASE,
)
_INDEX_HEADING = re.compile(r"\A(?:>[ \t]*)?#{1,6}[ \t]+documentation index[ \t]*#*\Z", re.IGNORECASE)
_AGENT_BLOCK = re.compile(
    r"(?:<AgentInstructions>.*?</AgentInstructions>"
    r"|<!--(?=[^>]*+(?<=--)>)(?=[^>]*(?:llms\.txt|AI agent))[^>]*+>)[ \t]*+\n*+",
    re.DOTALL | re.IGNORECASE,
)
_HEADING_LINE = re.compile(r"^#{1,6} [^\n]*", re.MULTILINE)
_AGENT_HEADING = re.compile(r"#{1,6} agent instructions\b", re.IGNORECASE)
_BLOCK = re.compile(r"\n*+((?:[^\n]++\n?)++)\n*+")
_HEADING = re.compile(r"\A#[ \t]|\A[^\n]+\n=+[ \t]*\n?\Z")
_LONGEST = 700
"""Characters: a longer block is text, whatever it names."""


def without_banners(text: str) -> str:
    """Return `text` (front matter already taken off) without banners aimed at agents.

    A banner is a block among the first ones (before or right after the first heading) that names the site's
    llms.txt and speaks of fetching it, with its "Documentation Index" heading; or an "Agent Instructions"
    section at the end. Anything else stays as its author wrote it.
    """
    head, rest = "", text
    for _ in range(2):
        rest = _strip_leading(rest)
        block = _BLOCK.match(rest)
        if (
            head
            or block is None
            or not _HEADING.match(block.group(1))
            or "\n" in block.group(1).rstrip("\n").replace("\n=", "")
        ):
            break
        head, rest = rest[: block.end()], rest[block.end() :]
    return _without_agent_section(head + rest)


def _without_agent_section(text: str) -> str:
    """Take off sections at the end, with the rule above them, that are instructions for agents."""
    while True:
        headings = _HEADING_LINE.findall(text)
        if not headings or not _AGENT_HEADING.match(headings[-1]):
            return text
        before = text[: text.rindex(headings[-1])].rstrip("\n")
        if before.endswith("\n---"):
            before = before[:-3].rstrip("\n")
        if not before or before == "---" or before.count("```") % 2:
            return text
        text = f"{before}\n"


def _strip_leading(text: str) -> str:
    while True:
        if agent := _AGENT_BLOCK.match(text):
            text = text[agent.end() :]
            continue
        block = _BLOCK.match(text)
        if block is None:
            return text
        first = block.group(1).rstrip("\n")
        if _INDEX_HEADING.match(first):
            following = _BLOCK.match(text[block.end() :])
            if following and _is_banner(following.group(1)):
                text = text[block.end() + following.end() :]
                continue
            return text
        if not _is_banner(first):
            return text
        text = text[block.end() :]


def _is_banner(block: str) -> bool:
    if len(block) > _LONGEST or block.startswith(("```", "    ", "|", "- ", "* ")):
        return False
    return bool(_LLMS_URL.search(block) and _ABOUT_INDEX.search(block) and _TO_AGENTS.search(block)) and (
        block.startswith((">", "<", "*", "_"))
        or bool(re.search(r"\bfetch\b|documentation index|complete index", block, re.IGNORECASE))
    )
