"""The rules of the lint: level and remedy of each; docs/reference/lint.md has an entry for each."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["error", "warning", "hint"]
LEVELS: tuple[Level, ...] = ("error", "warning", "hint")
"""The worst first."""

SPECIFICATION = "https://llmstxt.org/"


class Rule(NamedTuple):
    """How bad it is, and what to do."""

    level: Level
    remedy: str


RULES: dict[str, Rule] = {
    # the file
    "not-llms-txt": Rule("error", "serve Markdown text at this address"),
    "not-found": Rule("error", "put an llms.txt at the root of the site, or of the documentation"),
    "unreachable": Rule("error", "see that the address is right, and answers without a login"),
    "not-utf-8": Rule("error", "save the file as UTF-8"),
    "invisible-characters": Rule("hint", "remove them: they are part of URLs and words for a parser"),
    "too-large": Rule("hint", "split it into linked llms.txt files: a model reads the whole of it"),
    "html": Rule("hint", "write Markdown: HTML is read as text"),
    # its head
    "no-title": Rule("error", "begin the file with `# Name of the project`"),
    "title-not-first": Rule("hint", "begin the file with its H1"),
    "several-titles": Rule("warning", "use `##` for sections: the one H1 names the project"),
    "no-summary": Rule("warning", "put `> One or two sentences` below the title"),
    "summary-misplaced": Rule("hint", "put the summary directly below the title"),
    # its sections
    "no-links": Rule("error", "list pages as `- [Title](URL): notes` below `## Section` headings"),
    "no-sections": Rule("hint", "group the links below `## Headings`"),
    "empty-section": Rule("warning", "list pages below the heading, or remove it"),
    "section-without-links": Rule("hint", "keep prose above the first section: sections are lists of links"),
    "deep-heading": Rule("hint", "use `##` for sections: the format knows no deeper heading"),
    "optional-not-last": Rule("hint", "put the Optional section last: readers with little room stop there"),
    "everything-optional": Rule("warning", "leave only what can be skipped in the Optional section"),
    # its links
    "broken-link-syntax": Rule(
        "warning", "write `[Title](URL)` without a blank between, and `%20` for blanks in URLs"
    ),
    "invalid-url": Rule("error", "correct the URL"),
    "relative-link": Rule("hint", "write the whole URL: the file is read without its address, too"),
    "fragment-link": Rule("hint", "link pages; a part of this file is no page"),
    "not-a-page": Rule("hint", "list pages that can be fetched (http, https)"),
    "insecure-link": Rule("warning", "use https"),
    "off-site-link": Rule("hint", "make sure that it belongs to this documentation"),
    "duplicate-link": Rule("warning", "list each page once"),
    "duplicate-title": Rule("hint", "give each a title of its own"),
    "untitled-link": Rule("warning", "give the link the title of its page"),
    "link-outside-list": Rule("hint", "make it an item of a list: `- [Title](URL): notes`"),
    "item-without-link": Rule("hint", "link the page that the item is about"),
    "missing-notes": Rule("hint", "say after a colon what is there: `- [Title](URL): notes`"),
    "equal-notes": Rule("warning", "say of each page what it alone holds"),
    # what the links answer
    "dead-link": Rule("error", "remove or correct it"),
    "failing-link": Rule("warning", "see that it answers, without a login"),
    "redirected-link": Rule("hint", "link the address that it leads to"),
    "opted-out-link": Rule("warning", "list only pages whose use by AI tools is wanted, or lift the opt-out"),
    "html-link": Rule("hint", "link the Markdown version"),
    "no-markdown": Rule("hint", "serve a Markdown version beside the page"),
    "wrong-content-type": Rule(
        "warning", "serve Markdown as text/markdown and llms.txt as text/plain or text/markdown"
    ),
    "no-alternate": Rule(
        "hint", 'name the Markdown version: `<link rel="alternate" type="text/markdown" href="…">`'
    ),
    "no-vary": Rule(
        "warning", "send `Vary: Accept`: a cache would give Markdown to browsers, or HTML to models"
    ),
    "no-describedby": Rule("hint", 'name the file on its pages: `<link rel="describedby" href="/llms.txt">`'),
    "markdown-misses-content": Rule("warning", "build the Markdown version from the whole page"),
    "page-misses-content": Rule("hint", "see that both versions are built from the same text"),
    # the other files
    "full-text-unsplit": Rule("warning", "part the pages by a heading and their `Source:` address"),
    "full-text-misses-pages": Rule("warning", "build llms-full.txt from the pages that llms.txt lists"),
    "full-text-too-large": Rule("hint", "few models can read it at once: offer parts"),
    "not-in-sitemap": Rule("hint", "add the pages to the sitemap"),
    "only-in-sitemap": Rule("hint", "list the pages that matter"),
    "only-linked": Rule("hint", "list the pages that matter"),
    "left-out-link": Rule("hint", "see the reasons in the report"),
    "unread-llms-file": Rule("warning", "see that linked llms files answer"),
    "unread-sitemap": Rule("warning", "mend the sitemap: what stands behind the fault is not read"),
}


def is_as_bad(level: Level, limit: Level) -> bool:
    """Whether a level is as bad as `limit`, or worse.

    >>> is_as_bad("error", "warning"), is_as_bad("hint", "warning")
    (True, False)
    """
    return LEVELS.index(level) <= LEVELS.index(limit)
