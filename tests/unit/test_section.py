"""Which documentation a page belongs to: generator, navigation, breadcrumb."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction import read_metadata
from llmsspider.items import Section
from llmsspider.web.scope import build_scope

SITE = "https://example.com"
DOCS = [f"/guide/{name}/" for name in ("install", "first", "more", "deep")]


def links(*hrefs: str) -> str:
    return "".join(f"<li><a href='{href}'>x</a></li>" for href in hrefs)


def page(body: str, attributes: str = "", head: str = "") -> bytes:
    return f"<html {attributes}><head>{head}</head><body>{body}<main><p>Text.</p></main></body></html>".encode()


COMPANY = f"<header><nav>{links('/', '/products/', '/pricing/', '/blog/', '/docs/')}</nav></header>"
CASES = {
    "Sphinx": (page("", 'data-content_root="../"'), "/en/latest/guide/a.html", "/en/latest/"),
    "Sphinx, older": (
        page("<script>DOCUMENTATION_OPTIONS = {URL_ROOT: '../../'}</script>"),
        "/d/a/b/c.html",
        "/d/",
    ),
    "Sphinx, top page": (page("", 'data-content_root="./"'), "/en/latest/a.html", "/en/latest/"),
    "MkDocs Material": (
        page('<script id="__config">{"base": "../.."}</script>'),
        "/p/guide/a/",
        "/p/",
    ),
    "MkDocs": (page('<script>var base_url = "..";</script><!-- mkdocs -->mkdocs'), "/p/a/", "/p/"),
    "a base that is no generator's": (page('<script>var base_url = "..";</script>'), "/p/a/", None),
    "mdBook": (page('<script>var path_to_root = "../";</script>'), "/book/ch1/a.html", "/book/"),
    "Quarto": (page("", head='<meta name="quarto:offset" content="../">'), "/q/ref/a.html", "/q/"),
    "pkgdown": (page("", head='<script src="../pkgdown.js"></script>'), "/p/ref/a.html", "/p/"),
    "DocFX": (
        page("", head='<meta property=\'x\'><meta property="docfx:navrel" content="../toc.html">'),
        "/d/api/a.html",
        "/d/",
    ),
    "Documenter": (page('<script>documenterBaseURL=".."</script>'), "/d/stable/a/", "/d/stable/"),
    "Dokka": (page('<script>var pathToRoot = "../../";</script>'), "/d/m/p/index.html", "/d/"),
    "YARD": (
        page("<script>relpath = '../';</script><a href='https://yardoc.org'>YARD</a>"),
        "/y/Module/Class.html",
        "/y/",
    ),
    "a sidebar without last slashes": (
        page(f"<nav>{links('/', *(name.rstrip('/') for name in DOCS))}</nav>"),
        "/guide/first/",
        "/guide/",
    ),
    "VitePress": (
        page(
            '<div class="VPContent"></div>',
            head='<script src="/base/assets/app.DHo8XS.js"></script>',
        ),
        "/base/guide/a",
        "/base/",
    ),
    "Docusaurus, id of the page": (
        page("docusaurus", 'class="docs-wrapper docs-doc-id-guides/first"'),
        "/docs/2.x/guides/first",
        "/docs/2.x/",
    ),
    "Docusaurus, id of another name": (
        page("docusaurus", 'class="docs-doc-id-guides/intro"'),
        "/docs/guides/renamed",
        "/docs/",
    ),
    "Docusaurus, base": (
        page("docusaurus", head='<script src="/manual/assets/js/main.a21.js"></script>'),
        "/manual/api/x",
        "/manual/",
    ),
    "Docusaurus, a post": (
        page(
            "docusaurus",
            'class="blog-wrapper"',
            head='<script src="/site/assets/js/main.a21.js"></script>',
        ),
        "/site/blog/x",
        None,
    ),
    "a root elsewhere": (
        page("", 'data-content_root="https://cdn.example.net/"'),
        "/d/a.html",
        None,
    ),
    "the start that the page names": (
        page("", head='<link rel="home" href="../index.html">'),
        "/m/ch/a.html",
        "/m/",
    ),
    "a sidebar": (
        page(f"<nav>{links('/', *DOCS, '/guide/api/a/')}</nav>"),
        "/guide/first/",
        "/guide/",
    ),
    "a sidebar of the whole host": (
        page(f"<aside>{links(*DOCS, '/api/a/', '/api/b/')}</aside>"),
        "/guide/first/",
        "/",
    ),
    "the largest navigation": (
        page(
            f"<nav>{links('/guide/first/', '/a/', '/b/')}</nav><div class=sidebar>{links(*DOCS)}</div>"
        ),
        "/guide/first/",
        "/guide/",
    ),
    "a navigation that does not list the page": (
        page(f"<nav>{links(*DOCS)}</nav>"),
        "/guide/unlisted/",
        None,
    ),
    "the page by a link without an address": (
        page(f"<nav>{links(*DOCS)}<a href>here</a></nav>"),
        "/guide/other/",
        "/guide/",
    ),
    "the page by aria-current": (
        page(f"<nav>{links(*DOCS)}<a aria-current=page href='#'>here</a></nav>"),
        "/guide/unlisted/",
        "/guide/",
    ),
    "a breadcrumb": (
        page(
            f"<ol class=breadcrumb>{links('/', '/docs', '/docs/guide/', '/docs/guide/a.html')}</ol>"
        ),
        "/docs/guide/a.html",
        "/docs/",
    ),
    "a navigation that leads nowhere but up": (
        page(f"<nav>{links('../index.html', '../../index.html', '../index.html')} Path</nav>"),
        "/eio/eio/Eio/Path/index.html",
        "/eio/eio/",
    ),
    "a navigation that leads to the page's own directory": (
        page(f"<nav>{links('index.html', '../index.html')}</nav>"),
        "/eio/eio/Eio/Path/index.html",
        None,
    ),
    "the page above it": (
        page("<link rel=up href=../index.html>"),
        "/manual/setup/linux.html",
        "/manual/",
    ),
    "the base that phpDocumentor writes": (
        page('<base href="../"><ul class="phpdocumentor-breadcrumbs"></ul>'),
        "/api/classes/Acme.html",
        "/api/",
    ),
    "a post of a company": (page(COMPANY), "/blog/2024/news.html", None),
    "a post with a breadcrumb": (
        page(f"{COMPANY}<nav aria-label=Breadcrumb>{links('/', '/blog/')}</nav>"),
        "/blog/2024/news.html",
        "/blog/",
    ),
    "a post beside documentation": (
        page('<script id="__config">{"base": "../.."}</script>'),
        "/blog/x/",
        "/blog/",
    ),
    "news, a page of the documentation": (
        page("", head='<script src="../pkgdown.js"></script>'),
        "/news/",
        "/",
    ),
    "an article of news": (
        page("", head='<script src="../../pkgdown.js"></script>'),
        "/news/one/",
        "/news/",
    ),
}


@pytest.mark.parametrize(("body", "path", "expected"), CASES.values(), ids=CASES)
def test_the_section_of_a_page(body, path, expected):
    section = read_metadata(body, SITE + path, None).meta.section
    assert (section.path if section else None) == expected


def told(
    kind="auto", covering=None, start="/docs/guide/a.html", evidence=(), **options
) -> tuple[str, str]:
    scope = build_scope(
        kind, SITE + start, covering, [], evidence=[Section(*pair) for pair in evidence], **options
    )
    return scope.section, scope.why


EVIDENCE = [("/", "one"), ("/docs/", "two"), ("/elsewhere/", "three")]


def test_the_deepest_section_that_holds_the_start_page_is_taken():
    assert told(evidence=EVIDENCE) == ("/docs/", "two")
    assert told(evidence=[("/docs/guide/deep/", "below the start page")]) == ("/docs/guide/", "")


def test_an_llms_txt_and_scope_section_keep_their_own_rule():
    assert told("section", evidence=EVIDENCE) == ("/docs/guide/", "")
    assert told(covering=f"{SITE}/llms.txt", evidence=EVIDENCE) == ("/docs/", "two"), (
        "it says nothing of sections"
    )
    assert told(covering=f"{SITE}/docs/llms.txt", evidence=EVIDENCE) == (
        "/docs/",
        "the directory of its llms.txt",
    )


def test_every_language_is_never_less_than_the_section():
    assert told(above="/", evidence=EVIDENCE) == ("/", "")
    assert told(above="/docs/guide/", evidence=EVIDENCE) == ("/docs/", "two")


def test_the_scope_says_why():
    scope = build_scope(
        "auto",
        f"{SITE}/docs/a",
        None,
        [],
        evidence=[Section("/docs/", "the root that Sphinx names")],
    )
    assert "pages below example.com/docs/ (the root that Sphinx names)" in scope.describe()
