"""`llmsspider convert FILE|URL|-`: a file or page as Markdown; no crawl, so Scrapy is not imported."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from llmsspider import __version__
from llmsspider.cli.options import FAILED, OneLineParser, pairs
from llmsspider.content.reading import read
from llmsspider.content.to_markdown import Converted
from llmsspider.errors import ArgumentsError, LlmsspiderError
from llmsspider.web.addresses import HTTP, AllowedAddresses
from llmsspider.web.fetch import Answer, fetch

_ALLOWED = "LLMS_ALLOW_PRIVATE_ADDRESSES"
_TYPES = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "text/html"),
    **dict.fromkeys((".md", ".markdown", ".mdx"), "text/markdown"),
}
"""Media types by ending, where a file has to be what it is called; others tell by themselves."""


def main(given: list[str]) -> int:
    """Convert what was typed; returns the exit code."""
    options = _parser().parse_args(given)
    try:
        answer = _read(options.what, options.url, _allowed(options.settings))
        made = read(
            answer.body,
            answer.url,
            answer.mime_type,
            answer.encoding,
            keep=options.keep,
            drop=options.drop,
            name=Path(options.what).name,
        )
        if not made.text:
            raise LlmsspiderError("it holds no text")
        _write(made, options.output, as_json=options.json)
    except ArgumentsError:
        raise
    except OSError as error:
        return _fail(f"{error.filename or options.what}: {error.strerror or error}")
    except LlmsspiderError as error:
        message = str(error)
        return _fail(message if options.what in message else f"{options.what}: {message}")
    for selector in made.unmatched:
        sys.stderr.write(f"llmsspider convert: {selector!r} matches nothing\n")
    return 0


def _parser() -> OneLineParser:
    about = "A file or page as Markdown, to stdout: HTML, Markdown, a notebook, a document."
    made = OneLineParser(prog="llmsspider convert", description=about)
    made.add_argument("what", metavar="FILE|URL|-", help="a file, a URL, or - for stdin")
    made.add_argument("-o", "--output", metavar="FILE", help="write to this file, not to stdout")
    made.add_argument("--json", action="store_true", help="text, title, links, metadata as JSON")
    made.add_argument("--url", metavar="URL", default="", help="what links of a file begin at")
    for name, what in (("keep", "only what it matches"), ("drop", "all but what it matches")):
        made.add_argument(f"--{name}", metavar="CSS", action="append", default=[], help=what)
    setting: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
    made.add_argument("-s", dest="settings", help=f"the setting {_ALLOWED}", **setting)
    return made


def _read(what: str, url: str, allowed: AllowedAddresses) -> Answer:
    """Return what a file, a URL or stdin (`-`) holds."""
    if what.startswith(HTTP):
        return fetch(what, f"llmsspider/{__version__}", allowed)
    if "://" in what:
        raise ArgumentsError([f"{what}: only http and https URLs are fetched"])
    if what == "-":
        return Answer(sys.stdin.buffer.read(), url, None, None)
    return Answer(Path(what).read_bytes(), url, _TYPES.get(Path(what).suffix.lower()), None)


def _allowed(settings: list[str]) -> AllowedAddresses:
    given = pairs(settings, "-s")
    if others := sorted(given.keys() - {_ALLOWED}):
        raise ArgumentsError([f"-s {others[0]}: no crawl, so only {_ALLOWED} is accepted"])
    return AllowedAddresses.from_setting(given.get(_ALLOWED, os.environ.get(_ALLOWED)))


def _write(made: Converted, output: str | None, *, as_json: bool) -> None:
    text = json.dumps(asdict(made), ensure_ascii=False, indent=2) + "\n" if as_json else made.text
    data = text.encode("utf-8", "replace")
    if output:
        Path(output).write_bytes(data)
    else:
        sys.stdout.buffer.write(data)


def _fail(problem: str) -> int:
    sys.stderr.write(f"llmsspider convert: {problem}\n")
    return FAILED
