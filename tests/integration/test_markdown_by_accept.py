"""Markdown that a host answers by `Accept`, or has beside its pages: believed as far as it says what the pages say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

import pytest
from lxml import html
from site_server import TYPES, Reply, Seen, Site

from llmsspider.content.markdown import commonmark

CODE = """\
# Retry {n} times
def retry_{n}(task_name):
    # Wait between the runs
    for run_number in range({n}):
        if not run_task(task_name):
            wait_for(run_number)
"""
SHELL = (
    "# Install it first\npip install retry_tool_{n}\n# Then look at it\nretry_tool_{n} --show_all\n"
)


class Source:
    """What an author wrote: a page with headings, two blocks of code, and links to the next pages."""

    def __init__(self, number: int, pages: int):
        self.name, self.title = f"step-{number}", f"Step {number}"
        self.headings = [self.title, "Run it", "See also"]
        self.code = [
            ("python", CODE.replace("{n}", str(number))),
            ("bash", SHELL.replace("{n}", str(number))),
        ]
        self.links = [f"step-{(number + ahead) % pages}" for ahead in (1, 2, 3)]


def sphinx(source: Source, href: Callable[[str], str]) -> str:
    return "".join(
        [
            f'<div class="body" role="main"><section id="x"><h1>{source.title}<a class="headerlink" href="#x">¶</a>',
            "</h1>",
            "<p>It is done in the way that is shown here.</p>",
            *(
                f'<div class="highlight-{language} notranslate"><div class="highlight"><pre><span></span>'
                f"{lit(code)}</pre></div></div>"
                for language, code in source.code
            ),
            '<section id="run"><h2>Run it</h2><p>The runs come one after the other.</p></section>',
            f'<section id="see"><h2>See also</h2><ul>{links(source, href)}</ul></section></section></div>',
        ]
    )


def mkdocs(source: Source, href: Callable[[str], str]) -> str:
    blocks = "".join(
        f'<div class="language-{language} highlight"><pre><span></span><code>{lit(code)}</code></pre></div>'
        for language, code in source.code
    )
    return (
        f'<main class="md-main"><article class="md-content__inner md-typeset"><h1 id="x">{source.title}</h1>'
        f'<p>It is done in the way that is shown here.</p>{blocks}<h2 id="run">Run it</h2>'
        "<p>The runs come one after the other.</p>"
        f'<h2 id="see">See also</h2><ul>{links(source, href)}</ul></article></main>'
    )


def docusaurus(source: Source, href: Callable[[str], str]) -> str:
    blocks = "".join(
        f'<div class="language-{language} codeBlockContainer_x theme-code-block"><div class="codeBlockContent_x"><pre '
        f'tabindex="0" class="prism-code language-{language} codeBlock_x"><code class="codeBlockLines_x">'
        + "".join(f'<span class="token-line">{line}<br></span>' for line in lit(code).split("\n"))
        + "</code></pre></div></div>"
        for language, code in source.code
    )
    return (
        f'<main><article><div class="theme-doc-markdown markdown"><header><h1>{source.title}</h1></header>'
        f'<p>It is done in the way that is shown here.</p>{blocks}<h2 class="anchor" id="run">Run it</h2>'
        "<p>The runs come one after the other.</p>"
        f'<h2 class="anchor" id="see">See also</h2><ul>{links(source, href)}</ul></div></article></main>'
    )


def lit(code: str) -> str:
    return re.sub(r"(def|for|if|pip)", r"<span>\1</span>", code.strip("\n"))


def links(source: Source, href: Callable[[str], str]) -> str:
    return "".join(f'<li><a href="{href(name)}">Read {name}</a></li>' for name in source.links)


SHAPES = {
    "Sphinx": (sphinx, "/en/latest/guide/{}.html", "{}.html"),
    "MkDocs": (mkdocs, "/guide/{}/", "../{}/"),
    "Docusaurus": (docusaurus, "/docs/guide/{}", "/docs/guide/{}"),
}
PAGES = 12
PROSE = "The runs come one after the other."


def converted(body: str, url: str) -> str:
    """What a CDN makes of a page: no fences, no indentation, `_` escaped, links relative to its address without `/`."""
    tree = html.document_fromstring(body)
    main = (tree.xpath("//*[@role='main']") or tree.xpath("//main"))[0]
    blocks: list[str] = []
    for element in main.iter("h1", "h2", "p", "pre", "li"):
        text = "".join(element.itertext()).replace("¶", "").replace("_", "\\_")
        if element.tag == "pre":
            for line in element.iter("br"):
                line.tail = "\n" + (line.tail or "")
            text = "".join(element.itertext()).replace("_", "\\_")
            blocks += [line.strip() for line in text.split("\n") if line.strip()]
        elif element.tag == "li":
            (link,) = element.iter("a")
            blocks.append(f"- [{text}]({urljoin(url.rstrip('/'), link.get('href'))})")
        else:
            blocks.append({"h1": "# ", "h2": "## "}.get(str(element.tag), "") + text)
    return f"---\ntitle: {tree.findtext('.//title')}\n---\n\n" + "\n\n".join(blocks) + "\n"


def written(source: Source, href: Callable[[str], str]) -> str:
    """What the author wrote, as a host that keeps it answers."""
    blocks = "\n".join(f"```{language}\n{code}```\n" for language, code in source.code)
    ahead = "\n".join(f"- [Read {name}]({href(name)})" for name in source.links)
    return (
        f"---\nsidebar: 1\n---\n# {source.title}\n\nIt is done in the way that is shown here.\n\n{blocks}\n"
        f"## Run it\n\n:::tip\nThe runs come one after the other.\n:::\n\n## See also\n\n{ahead}\n"
    )


def site_of(shape: str, *, by: str) -> dict[str, Callable[[Seen], Reply]]:
    """Pages that answer Markdown by `Accept`, converted by a CDN or as their author wrote it."""
    write, address, relative = SHAPES[shape]
    pages: dict[str, Callable[[Seen], Reply]] = {}
    for source in (Source(number, PAGES) for number in range(PAGES)):
        path = address.format(source.name)
        body = (
            f"<!doctype html><html><head><title>{source.title}</title></head>"
            f"<body>{write(source, relative.format)}</body></html>"
        )
        if by == "cdn":
            made, headers = (
                converted(body, f"{{base}}{path}"),
                {"x-markdown-tokens": "300", "Server": "cdn"},
            )
        else:
            made, headers = written(source, address.format), {}
        pages[path] = answering(body, made, headers)
    return pages


def site_with_files(bad: set[int]) -> dict[str, str]:
    """MkDocs pages with Markdown files beside them, in two sections; those of `bad` pages are converted badly."""
    write, _, relative = SHAPES["MkDocs"]
    listed, pages = "# Site\n\n", {}
    for number in range(2 * PAGES):
        source, section = Source(number % PAGES, PAGES), "guide" if number < PAGES else "api"
        path = f"/{section}/{source.name}/"
        page = write(source, relative.format).replace(PROSE, PROSE * 9)
        body = f"<!doctype html><title>{source.title}</title><body>{page}</body>"
        text = written(source, f"/{section}/{{}}/".format).replace(PROSE, PROSE * 9)
        pages[path] = body
        pages[f"{path}index.md"] = converted(body, f"{{base}}{path}") if number in bad else text
        listed += f"- [{source.title}]({{base}}{path}index.md)\n"
    start = "<!doctype html><title>Home</title><main><h1>Home</h1><p>Welcome.</p><a href='/guide/step-0/'>On</a></main>"
    return {**pages, "/llms.txt": listed, "/": start}


@pytest.mark.parametrize(
    "bad", [range(2 * PAGES), range(PAGES, 2 * PAGES), [3]], ids=["all", "a section", "a page"]
)
def test_files_beside_pages_are_believed_by_section(serve, run_crawl, bad):
    site = serve(site_with_files(set(bad)))
    outcome = run_crawl(f"{site.url}/")
    origins = {
        path: one["origin"] for path, one in outcome.by_path(site.url).items() if path != "/"
    }
    given_up = {1: set(), PAGES: {"/api/"}, 2 * PAGES: {"/api/", "/guide/"}}[len(bad)]
    by_html = {path for path, origin in origins.items() if origin == "html"}
    assert by_html == {path for path in origins if path.startswith(tuple(given_up))}
    assert len([line for line in outcome.lines if "loses code blocks" in line]) == bool(given_up)
    assert outcome.stats["llms/markdown/samples"] <= 6
    site.clear()
    again = run_crawl(f"{site.url}/").by_path(site.url)
    assert {one["change"] for one in again.values()} == {"unchanged"}
    asked = [
        path
        for path in site.paths()
        if path.endswith(".md") and path.startswith(tuple(given_up) or "-")
    ]
    assert len(asked) <= 1, "but for the sample of the night"


def answering(body: str, markdown: str, headers: dict[str, str]) -> Callable[[Seen], Reply]:
    def page(seen: Seen) -> Reply:
        accepted = {name.lower(): value for name, value in seen.headers.items()}.get("accept", "")
        if accepted.startswith("text/markdown"):
            return Reply(markdown, content_type=TYPES["md"], headers={"Vary": "Accept", **headers})
        return Reply(body, content_type=TYPES["html"], headers={"Vary": "Accept"})

    return page


def said(document: dict) -> tuple[list[str], list[tuple[str, str]], set[str]]:
    """Headings, code with its language, and the paths that links lead to, of a document."""
    headings, code, text, fence = [], [], [], ""
    for event in commonmark.events(document["content"]):
        kind, value = (event, "") if isinstance(event, str) else next(iter(event.items()))
        if kind == "Start":
            text = []
            fence = (
                value["CodeBlock"].get("Fenced", "")
                if isinstance(value, dict) and "CodeBlock" in value
                else ""
            )
        elif kind == "End" and value == "CodeBlock":
            code.append((fence, "".join(text)))
        elif kind == "End" and isinstance(value, dict) and "Heading" in value:
            headings.append("".join(text))
        elif kind in {"Text", "Code"}:
            text.append(value)
    return headings, code, {urlsplit(link["url"]).path for link in document["links"]}


def scores(outcome, site: Site, shape: str) -> dict[str, float]:
    """The share of the author's headings, code and links that the documents have, and nothing else of the kind."""
    found = outcome.by_path(site.url)
    _, address, _ = SHAPES[shape]
    kept = {"headings": 0, "code": 0, "links": 0}
    for source in (Source(number, PAGES) for number in range(PAGES)):
        headings, code, leads = said(found[address.format(source.name)])
        kept["headings"] += headings == source.headings
        kept["code"] += code == source.code
        kept["links"] += leads == {address.format(name) for name in source.links}
    return {name: number / PAGES for name, number in kept.items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_cdn_converts_badly_is_converted_from_its_html(serve, run_crawl, shape):
    site = serve(site_of(shape, by="cdn"))
    start = site.url + SHAPES[shape][1].format("step-0")
    outcome = run_crawl(start, arguments={"scope": "host"})
    assert scores(outcome, site, shape) == {"headings": 1, "code": 1, "links": 1}
    assert {document["origin"] for document in outcome.by_path(site.url).values()} == {"html"}
    (line,) = [line for line in outcome.lines if "Markdown by Accept" in line]
    assert "loses code blocks" in line
    assert "its HTML is converted" in line
    assert outcome.stats["llms/markdown/samples"] <= 3
    site.clear()
    again = run_crawl(start, arguments={"scope": "host"})
    assert set(again.by_path(site.url)) == set(outcome.by_path(site.url))
    assert {document["change"] for document in again.by_path(site.url).values()} == {"unchanged"}
    asked = [
        seen.headers.get("Accept", "")
        for seen in site.requests
        if "/step-" in seen.path and "." not in seen.path
    ]
    assert not [accepted for accepted in asked if accepted.startswith("text/markdown")]


@pytest.mark.parametrize("shape", ["MkDocs", "Docusaurus"])
def test_what_an_author_wrote_is_taken(serve, run_crawl, shape):
    site = serve(site_of(shape, by="author"))
    outcome = run_crawl(site.url + SHAPES[shape][1].format("step-0"), arguments={"scope": "host"})
    assert {document["origin"] for document in outcome.by_path(site.url).values()} == {"negotiated"}
    assert scores(outcome, site, shape) == {"headings": 1, "code": 1, "links": 1}
    assert outcome.stats["llms/markdown/samples"] <= 3


def test_a_form_that_gets_worse_or_better_is_given_up_or_taken_again_after_a_few_nights(
    serve, run_crawl
):
    site = serve(site_of("Docusaurus", by="author"))
    start = site.url + SHAPES["Docusaurus"][1].format("step-0")

    def night():
        site.clear()
        outcome = run_crawl(start, arguments={"scope": "host"})
        told = [line for line in outcome.lines if "Markdown by Accept" in line]
        documents = outcome.by_path(site.url).values()
        return (
            outcome,
            told,
            {document["origin"] for document in documents},
            Counter(d["change"] for d in documents),
        )

    def decided(by: str):
        site.pages.update(site_of("Docusaurus", by=by))
        before = [set(night()[3])]
        for _ in range(2):
            outcome, told, origins, changes = night()
            assert outcome.stats["llms/markdown/samples"] <= 2
            if told:
                assert before.count({"unchanged"}) >= len(before) - 1, "the texts change once"
                return outcome, told, origins, changes
            before.append(set(changes))
        raise AssertionError("nothing was decided")

    assert night()[2] == {"negotiated"}
    outcome, (line,), origins, changes = decided("cdn")
    assert "loses code blocks" in line
    assert (origins, set(changes)) == ({"html"}, {"unchanged"})
    assert scores(outcome, site, "Docusaurus") == {"headings": 1, "code": 1, "links": 1}
    outcome, (line,), origins, changes = decided("author")
    assert "says what its HTML says" in line
    assert (origins, set(changes)) == ({"negotiated"}, {"unchanged"})
    assert scores(outcome, site, "Docusaurus") == {"headings": 1, "code": 1, "links": 1}
