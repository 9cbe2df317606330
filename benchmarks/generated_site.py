"""A documentation site made up from a seed, in the shape of a common generator's output, and a fast server for it.

Each page has what makes real pages cost time: a header, a sidebar with the tree of the site, a table of contents,
prose with inline markup, highlighted code with a span for each token, tables, admonitions, nested lists, previous
and next links. There is no llms.txt and no Markdown form, so that every page has to be converted.
"""

# ruff: noqa: SIM905 (HTML and word lists read better unbroken)

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Iterator

WORDS = (
    "the of a to in is value module request option parameter returns when default index server client table query "
    "with and or not each field type object list string number path file name table column session cache timeout "
    "connection handler response header body stream buffer thread process event callback error warning version "
    "install configure example section below above see note that this can must should will be used for from into"
).split()
NAMES = "load open parse render fetch connect build resolve encode decode read write flush split join map".split()
PAGES_A_SECTION = 20
SECTIONS_IN_SIDEBAR = 40
"""A larger site shows the nearest ones, as large sites do: else a page would grow with the site."""


def in_words(number: int) -> str:
    """Return a number in words: a URL with digits is taken for one of a series.

    >>> in_words(0), in_words(17)
    ('load', 'open-open')
    """
    high, low = divmod(number, len(NAMES))
    return f"{in_words(high)}-{NAMES[low]}" if high else NAMES[low]


class SiteWriter:
    """Writes the pages of one site; the same seed and number give the same bytes."""

    def __init__(self, pages: int, seed: int = 1):
        self.random = random.Random(seed)
        self.sections = [
            f"section-{in_words(number)}" for number in range(-(-pages // PAGES_A_SECTION))
        ]
        self.number = {section: number for number, section in enumerate(self.sections)}
        self.tree = {
            section: [
                f"{in_words(page)}-{in_words(number)}"
                for page in range(min(PAGES_A_SECTION, pages - number * PAGES_A_SECTION))
            ]
            for number, section in enumerate(self.sections)
        }

    def site(self) -> dict[str, bytes]:
        """Return the pages by path: one for each of the `pages`, and the start page `/`."""
        return dict(self.pages())

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and HTML of each page, the start page first."""
        first = self.sections[0]
        yield "/", self.page(first, "Welcome", self.tree[first][0], depth="")
        for section, pages in self.tree.items():
            for number, page in enumerate(pages):
                following = pages[(number + 1) % len(pages)]
                yield f"/{section}/{page}.html", self.page(section, page, following, depth="../")

    def page(self, section: str, name: str, following: str, depth: str) -> bytes:
        """Return one page as HTML."""
        headings = [self.words(3).title() for _ in range(5)]
        body = "".join(
            self.section(section, heading, number, depth) for number, heading in enumerate(headings)
        )
        toc = "".join(
            f'<li><a class="reference internal" href="#s{n}">{h}</a></li>'
            for n, h in enumerate(headings)
        )
        return f"""<!DOCTYPE html>
<html lang="en" data-content_root="{depth}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Docutils 0.20: https://docutils.sourceforge.io/">
<title>{name} &#8212; Example 1.0 documentation</title>
<link rel="stylesheet" type="text/css" href="{depth}_static/theme.css"><script src="{depth}_static/doctools.js"></script>
<link rel="index" title="Index" href="{depth}genindex.html"></head>
<body><div class="related" role="navigation"><h3>Navigation</h3><ul><li><a href="{depth}">Example 1.0</a> &#187;</li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="{name}"><h1>{name}<a class="headerlink" href="#{name}" title="Link to this heading">¶</a></h1>
<p>{self.prose(section, depth)}</p>
{body}</section>
<div class="clearer"></div></div></div></div>
<div class="sphinxsidebar" role="navigation" aria-label="Main"><div class="sphinxsidebarwrapper">
<h3><a href="{depth}">Table of Contents</a></h3><ul>{toc}</ul>
<div class="toctree">{self.sidebar(section, depth)}</div>
<p class="topless"><a href="{depth}{section}/{following}.html" title="next chapter">{following}</a></p></div></div></div>
<div class="footer" role="contentinfo">&#169; Copyright 2026. <a href="https://www.sphinx-doc.org/">Sphinx</a></div></body></html>
""".encode()

    def sidebar(self, current: str, depth: str) -> str:
        """Return the tree: the sections around the current one, the pages of that one."""
        items = []
        last = len(self.sections)
        begin = max(
            0, min(self.number[current] - SECTIONS_IN_SIDEBAR // 2, last - SECTIONS_IN_SIDEBAR)
        )
        for section in self.sections[begin : begin + SECTIONS_IN_SIDEBAR]:
            pages = self.tree[section]
            below = "".join(
                f'<li class="toctree-l2"><a class="reference internal" href="{depth}{section}/{page}.html">{page}</a></li>'
                for page in (pages if section == current else ())
            )
            first = f"{depth}{section}/{pages[0]}.html"
            items.append(
                f'<li class="toctree-l1"><a class="reference internal" href="{first}">{section}</a><ul>{below}</ul></li>'
            )
        return f"<ul>{''.join(items)}</ul>"

    def section(self, section: str, heading: str, number: int, depth: str) -> str:
        """Return one section of a page; every kind of block stands in some of them."""
        blocks = [
            f"<p>{self.prose(section, depth)}</p>",
            self.code(),
            f"<p>{self.prose(section, depth)}</p>",
        ]
        blocks.append((self.table, self.bullets, self.definition, self.admonition)[number % 4]())
        sign = f'<a class="headerlink" href="#s{number}" title="Link to this heading">¶</a>'
        return f'<section id="s{number}"><h2>{heading}{sign}</h2>{"".join(blocks)}</section>\n'

    def words(self, count: int) -> str:
        """Return made-up text."""
        return " ".join(self.random.choices(WORDS, k=count))

    def prose(self, section: str, depth: str) -> str:
        """Return a paragraph with emphasis, code and cross references."""
        target = self.random.choice(self.tree[section])
        link = f'<a class="reference internal" href="{depth}{section}/{target}.html#s1"><span class="std std-ref">{target}</span></a>'
        code = f'<code class="docutils literal notranslate"><span class="pre">{self.random.choice(NAMES)}()</span></code>'
        return f"{self.words(35)} {code} {self.words(12)} <em>{self.words(2)}</em>, {self.words(10)} {link}. {self.words(30)}."

    def code(self) -> str:
        """Return a block as Pygments writes it: a span for each token."""
        lines = [
            f'<span class="n">{self.random.choice(NAMES)}_{n}</span> <span class="o">=</span> '
            f'<span class="n">example</span><span class="o">.</span><span class="n">{self.random.choice(NAMES)}</span>'
            f'<span class="p">(</span><span class="s2">&quot;{self.random.choice(WORDS)}&quot;</span><span class="p">,</span> '
            f'<span class="mi">{self.random.randrange(100)}</span><span class="p">)</span>  '
            f'<span class="c1"># {self.words(3)}</span>'
            for n in range(12)
        ]
        text = "\n".join(["<span></span>" + lines[0], *lines[1:]])
        return f'<div class="highlight-python notranslate"><div class="highlight"><pre>{text}\n</pre></div></div>'

    def table(self) -> str:
        """Return a table of ten rows."""
        head = "".join(
            f'<th class="head"><p>{name}</p></th>' for name in ("Name", "Type", "Meaning")
        )
        rows = "".join(
            f'<tr class="row-odd"><td><p><code class="docutils literal"><span class="pre">{self.random.choice(NAMES)}</span></code></p></td>'
            f"<td><p>{self.random.choice(WORDS)}</p></td><td><p>{self.words(8)}</p></td></tr>"
            for _ in range(10)
        )
        return f'<table class="docutils align-default"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'

    def bullets(self) -> str:
        """Return a nested list."""
        inner = "".join(f"<li><p>{self.words(6)}</p></li>" for _ in range(3))
        return f'<ul class="simple">{"".join(f"<li><p>{self.words(8)}</p><ul>{inner}</ul></li>" for _ in range(4))}</ul>'

    def definition(self) -> str:
        """Return a function's description."""
        name = self.random.choice(NAMES)
        signature = f'<span class="sig-name descname"><span class="pre">{name}</span></span>(<em class="sig-param">value</em>)'
        return (
            f'<dl class="py function"><dt class="sig sig-object py">{signature}</dt><dd><p>{self.words(20)}</p>'
            f'<dl class="field-list simple"><dt>Returns</dt><dd><p>{self.words(8)}</p></dd></dl></dd></dl>'
        )

    def admonition(self) -> str:
        """Return a note."""
        return f'<div class="admonition note"><p class="admonition-title">Note</p><p>{self.words(25)}</p></div>'


@contextlib.contextmanager
def serving(site: dict[str, bytes]) -> Iterator[str]:
    """Serve pages from a thread of this process on a free port of 127.0.0.1; yields the site's address."""
    answers = {path: _answer("200 OK", body) for path, body in site.items()}
    missing = _answer("404 Not Found", b"<html><body><h1>Not found</h1></body></html>")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(answers.get(head.split(b" ", 2)[1].decode(), missing))
                await writer.drain()
        writer.close()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(serve, "127.0.0.1", 0), loop
    ).result()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _answer(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
