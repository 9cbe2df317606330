"""`llmsspider demo`: a tiny documentation site on this machine, to try everything on."""

import argparse
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files

from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import option
from llmsspider.errors import ArgumentsError

NAMES = ("index", "install", "brew", "settings", "errors")
LLMS_TXT = (
    "# Tealight\n\n> The documentation of a kettle that does not exist.\n\n## Guide\n\n"
    + "".join(f"- [{name.title()}]({name}.md)\n" for name in NAMES)
)


def answer(path: str) -> tuple[str, str] | None:
    """Return media type and text of a path, None for one that does not exist.

    >>> answer("/brew.md")[1].splitlines()[0], answer("/brew")[0], answer("/tea")
    ('# Brew', 'text/html', None)
    """
    name = path.partition("?")[0].strip("/") or "index"
    if name == "llms.txt":
        return "text/plain", LLMS_TXT
    if (page := name.removesuffix(".md")) not in NAMES:
        return None
    text = files("llmsspider").joinpath(f"cli/templates/demo/{page}.md").read_text("utf-8")
    if name.endswith(".md"):
        return "text/markdown", text
    from markdown_it import MarkdownIt  # every command is imported with each of them

    body = MarkdownIt().enable("table").render(text)
    return (
        "text/html",
        f'<!doctype html><html lang="en"><title>Tealight</title><main>{body}</main></html>',
    )


class Handler(BaseHTTPRequestHandler):
    """Answers GET."""

    def do_GET(self) -> None:
        """Send a page, or 404."""
        kind, text = answer(self.path) or ("text/plain", "not found\n")
        body = text.encode()
        self.send_response(200 if answer(self.path) else 404)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    log_message = staticmethod(lambda *_: None)  # type: ignore[assignment]  # it prints nothing


class Command(OneLineCommand):
    """Serve the documentation of a made-up product on 127.0.0.1, as HTML and Markdown, with an
    llms.txt.
    """

    requires_project = False
    options = (
        option("--port", "of 127.0.0.1; 0 is any free one (default: 8000)", type=int, default=8000),
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Serve until Ctrl-C."""
        if args:
            raise ArgumentsError([f"unexpected argument {args[0]!r}; a port stands after --port"])
        try:
            server = ThreadingHTTPServer(("127.0.0.1", opts.port), Handler)
        except (OSError, OverflowError) as error:
            raise ArgumentsError(
                [f"--port {opts.port}: it cannot be used ({error}); choose another"]
            ) from None
        with server, suppress(KeyboardInterrupt):
            sys.stdout.write(f"serving http://127.0.0.1:{server.server_port}/ until Ctrl-C\n")
            sys.stdout.flush()
            server.serve_forever()
