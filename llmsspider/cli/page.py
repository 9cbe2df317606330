"""`llmsspider page URL`: one page as Markdown, to stdout."""

import sys
from pathlib import Path

from llmsspider.api.crawls import Crawl
from llmsspider.cli.options import FAILED, OneLineParser, add_pairs, pairs
from llmsspider.cli.printing import as_json
from llmsspider.errors import ArgumentsError, InvalidUrlError, LlmsspiderError
from llmsspider.items import row_of
from llmsspider.web.urls import start_url


def main(given: list[str]) -> int:
    """Print one page as Markdown; the crawl is a process of its own, whose log nobody sees."""
    about = "One page as Markdown, to stdout. Nothing is stored, and no link followed."
    made = OneLineParser(prog="llmsspider page", description=about)
    made.add_argument("url", metavar="URL")
    made.add_argument(
        "-o", "--output", metavar="FILE", help="write to this file in place of stdout"
    )
    made.add_argument("--json", action="store_true", help="the whole document as JSON")
    add_pairs(made)
    options = made.parse_args(given)
    try:
        arguments = {"url": start_url(options.url), **pairs(options.arguments, "-a")}
        (document,) = Crawl("page", arguments, None, pairs(options.settings, "-s"))
        text = as_json(row_of(document)) if options.json else document.content or ""
        if options.output:
            Path(options.output).write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    except (ArgumentsError, InvalidUrlError) as error:
        raise ArgumentsError(error.problems) from None
    except (LlmsspiderError, OSError) as error:
        sys.stderr.write(f"llmsspider page: {error}\n")
        return FAILED
    return 0
