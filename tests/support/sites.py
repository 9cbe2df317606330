"""Small sites that many tests crawl."""

from __future__ import annotations

from typing import Any

from site_server import Site

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


NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
PAGES = 12
"""Pages of each directory."""


def linked_page(title: str, *links: str) -> str:
    listed = "".join(f'<li><a href="{link}">{link.strip("/")}</a></li>' for link in links)
    text = f"The page {title} of this documentation has words of its own, {title} and others."
    return (
        f"<!doctype html><html lang='en'><head><title>{title} - Site</title></head><body><main><h1>{title}</h1>"
        f"<p>{text}</p><ul>{listed}</ul></main></body></html>"
    )


def directories() -> dict[str, Any]:
    """Directories whose pages link to the next one and to the next directory; each has a page that no list names."""
    found: dict[str, Any] = {"/": linked_page("Home", *(f"/{name}/page-a" for name in NAMES))}
    for number, name in enumerate(NAMES):
        following = NAMES[(number + 1) % len(NAMES)]
        letters = "abcdefghijkl"[:PAGES]
        for at, letter in enumerate(letters):
            after = letters[(at + 1) % PAGES]
            also = [f"/{following}/unlisted"] if letter == "c" else []
            found[f"/{name}/page-{letter}"] = linked_page(
                f"{name} {letter}", f"/{name}/page-{after}", f"/{following}/page-a", *also
            )
        found[f"/{name}/unlisted"] = linked_page(
            f"{name} unlisted", f"/{name}/behind", f"/{following}/page-b"
        )
        found[f"/{name}/behind"] = linked_page(f"{name} behind", f"/{following}/far")
        found[f"/{name}/far"] = linked_page(f"{name} far", f"/{name}/page-a")
    return found


def with_sitemap(site: Site) -> None:
    """List all pages but those that only links lead to."""
    listed = "".join(
        f"<url><loc>{{base}}{path}</loc></url>" for path in site.pages if path.count("page-")
    )
    site.pages["/sitemap.xml"] = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
    )
