"""Docsify sites as their page configures them."""

from __future__ import annotations

from dataclasses import asdict
from urllib.parse import urljoin

import pytest

from llmsspider.site.providers import Docsify, docsify_configuration, docsify_scripts, find_docsify
from llmsspider.web.urls import identity

URL = "https://e.com/docs/"
LOADER = "<script src='https://cdn.example/npm/docsify@4'></script>"


def configured(config: str) -> Docsify:
    site = find_docsify(f"<script>window.$docsify = {{{config}}}</script>{LOADER}".encode(), URL)
    assert site is not None
    return site


@pytest.mark.parametrize(
    ("config", "route", "file"),
    [
        ("", "", "README.md"),
        ("", "#/", "README.md"),
        ("", "#/guide", "guide.md"),
        ("", "#/guide/", "guide/README.md"),
        ("", "#/guide?id=use", "guide.md"),
        ("homepage: 'home.md'", "", "home.md"),
        ("basePath: '/files/'", "#/guide", "../files/guide.md"),
        ("basePath: 'https://raw.example/x/'", "#/guide", "https://raw.example/x/guide.md"),
        ('"ext": ".markdown"', "#/guide", "guide.markdown"),
    ],
)
def test_the_file_of_a_route(config, route, file):
    assert configured(config).file_of(URL + route) == urljoin(URL, file)


@pytest.mark.parametrize(
    ("href", "page", "expected"),
    [
        ("guide.md", "", "#/guide"),
        ("/guide", "#/a/b", "#/guide"),
        ("guide.md", "#/a/b", "#/guide"),
        ("./x/README.md", "", "#/x/"),
        ("#/guide?id=use", "#/a", "#/guide?id=use"),
        ("#use", "#/a", "#/a?id=use"),
        ("?id=use", "#/a", "#/a?id=use"),
        ("#use", "", "#/?id=use"),
        ("/", "#/a", ""),
        ("_media/x.png", "#/a/b", "_media/x.png"),
        ("https://other.example/#/x", "", "https://other.example/#/x"),
        ("mailto:me@e.com", "", "mailto:me@e.com"),
    ],
)
def test_what_links_mean(href, page, expected):
    site = configured("")
    assert site.join(href, URL + page) == (expected if ":" in expected else URL + expected)


def test_links_beside_the_page_where_the_site_says_so():
    assert configured("relativePath: true").join("c.md", f"{URL}#/a/b") == f"{URL}#/a/c"


def test_lists_beside_a_page():
    site = configured("loadSidebar: true")
    assert site.lists_beside(f"{URL}#/a/b") == [f"{URL}a/_sidebar.md"]


def test_routes_that_are_paths_are_pages_as_any_other():
    page = f"<script>$docsify = {{routerMode: 'history'}}</script>{LOADER}".encode()
    assert find_docsify(page, URL) is None
    assert Docsify.from_list([{"page": URL, "files": URL, "is_history": True}]) == []


def test_lists_are_no_pages():
    site = configured("loadSidebar: true, loadNavbar: 'nav.md', coverpage: false")
    assert list(site.lists) == [f"{URL}_sidebar.md", f"{URL}nav.md"]
    assert site.page_of(f"{URL}_sidebar.md") is None
    assert site.page_of(f"{URL}a/README.md") == f"{URL}#/a/"
    assert site.page_of("https://e.com/other.md") is None


@pytest.mark.parametrize(
    "page",
    [
        "<p>We moved from docsify.</p>",
        "<p>x</p>",
    ],
)
def test_what_is_no_docsify_site_with_routes(page):
    assert find_docsify(page.encode(), URL) is None


def test_it_is_remembered():
    site = configured("loadSidebar: true")
    assert Docsify.from_list([asdict(site), {"page": 1}, None]) == [site]


def test_routes_are_pages_and_places_are_not():
    assert identity(f"{URL}#/guide?id=x") == identity(f"{URL}index.html#/guide") != identity(URL)
    assert identity(f"{URL}#top") == identity(f"{URL}#/") == identity(URL)


FORMS = {
    "another object taken over": "window.$docsify = Object.assign({}, window.$docsify || {}, {homepage: 'h.md'})",
    "into the object": "Object.assign(window.$docsify, {homepage: 'h.md'})",
    "setting by setting": "window.$docsify = window.$docsify || {}; window.$docsify.homepage = 'h.md'",
    "a name": "const config = {name: 'Heron', homepage: 'h.md'};\nwindow.$docsify = config;",
    "a name of a module": "const config = Object.assign({}, base, {homepage: 'h.md'})\nwindow.$docsify = config",
}


@pytest.mark.parametrize("script", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("is_own", [False, True], ids=["in the page", "in a script of its own"])
def test_the_forms_of_a_configuration(script, is_own):
    shown = "<script src='config.js'></script>" if is_own else f"<script>{script}</script>"
    page = f"{shown}{LOADER}<script src='/js/docsify.min.js'></script>".encode()
    assert docsify_scripts(page, URL) == ([f"{URL}config.js"] if is_own else [])
    assert docsify_configuration(script) is not None
    site = find_docsify(page, URL, script if is_own else "")
    assert (site.homepage, site.is_configured, site.unread) == ("h.md", True, ())
    assert not find_docsify(page, URL).is_configured or not is_own


@pytest.mark.parametrize(
    ("config", "unread"),
    [
        ("routes: {'/now': (route) => '# Now'}", ("routes",)),
        ("routes: {}", ()),
        ("alias: {'/a': '/b'}", ("alias",)),
        ("alias: {'/.*/_sidebar.md': '/_sidebar.md', '/.*/_navbar.md': '/_navbar.md'}", ()),
        ("alias: {'/.*/_sidebar.md': '/_sidebar.md', '/a': '/b'}", ("alias",)),
        ("alias: {'/a': (path) => path}", ("alias",)),
        ("alias: Object.fromEntries(pairs)", ("alias",)),
        ("alias: {}, routes: paths", ("routes",)),
    ],
)
def test_what_of_a_configuration_is_not_read(config, unread):
    site = configured(config)
    assert site.unread == unread
    assert Docsify.from_list([asdict(site)]) == [site]
