"""Small sites that many tests crawl."""

from __future__ import annotations

NAV = '<nav><a href="/">Home</a> <a href="/guide/intro.html">Intro</a> <a href="/guide/more.html">More</a></nav>'


def html(title: str, body: str, head: str = "") -> str:
    """A page of a documentation site."""
    return (
        f"<!doctype html><html lang='en'><head><title>{title} - Site</title>{head}</head><body>{NAV}"
        f"<main><h1>{title}</h1>{body}</main><footer>footer</footer></body></html>"
    )


PLAIN = {
    "/": html("Home", "<p>Welcome to the documentation of this thing.</p>"),
    "/guide/intro.html": html(
        "Intro", "<p>How to begin.</p><pre><code class='language-python'>x = 1\n</code></pre>"
    ),
    "/guide/more.html": html("More", "<p>More to read, <a href='deep.html'>deeper</a>.</p>"),
    "/guide/deep.html": html("Deep", "<p>The deepest page of all.</p>"),
}

MARKDOWN = {
    "/": html("Home", "<p>Welcome to the documentation of this thing.</p>"),
    "/index.html.md": "# Home\n\nWelcome.\n",
    "/guide/intro.html": html("Intro", "<p>How to begin.</p>"),
    "/guide/intro.html.md": "# Intro\n\nHow to begin, [see more](more.html).\n",
    "/guide/more.html": html("More", "<p>More.</p>"),
    "/guide/more.html.md": "# More\n\nMore to read.\n",
    "/llms.txt": "# Site\n\n> What it is.\n\n## Guide\n\n- [The intro](guide/intro.html.md): how to begin\n",
}
