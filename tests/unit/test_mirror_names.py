"""Names of files in the Markdown tree: hostile URLs, and what must hold for any URL."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.output.mirror_files import MAX_PATH, MirrorNames, link_path, safe_name
from llmsspider.web.urls import identity

LONG = "x" * 300

HOSTILE = {
    "root": ("https://e.com/", "home.md"),
    "root without slash": ("https://e.com", "home.md"),
    "root index": ("https://e.com/index.html", "home.md"),
    "a page named home": ("https://e.com/home", "home~….md"),
    "directory": ("https://e.com/guide/", "guide/index.md"),
    "html page": ("https://e.com/guide/intro.html", "guide/intro.md"),
    "htm page": ("https://e.com/guide/old.htm", "guide/old.md"),
    "markdown of an html page": ("https://e.com/m/intro.html.md", "m/intro.md"),
    "other ending": ("https://e.com/page.php", "page.php.md"),
    "the index without ending": ("https://e.com/index", "home~….md"),
    "dot segments": ("https://e.com/a/../../../etc/passwd", "etc/passwd.md"),
    "encoded dot segments": ("https://e.com/%2e%2e/%2e%2e/etc/shadow", "etc/shadow.md"),
    "encoded slashes": ("https://e.com/..%2f..%2fetc%2fhosts", "%2E.%2F..%2Fetc%2Fhosts.md"),
    "double-encoded dots": ("https://e.com/%252e%252e/x", "%252e%252e/x.md"),
    "backslashes": (
        "https://e.com/..%5c..%5cwindows%5cwin.ini",
        "%2E.%5C..%5Cwindows%5Cwin.ini.md",
    ),
    "drive": ("https://e.com/C:/Windows/x", "C%3A/Windows/x.md"),
    "alternate data stream": ("https://e.com/file.txt::$DATA", "file.txt%3A%3A$DATA.md"),
    "NUL": ("https://e.com/a%00b", "a%00b.md"),
    "line break": ("https://e.com/a%0d%0ab", "a%0D%0Ab.md"),
    "escape sequence": ("https://e.com/%1b[2J", "%1B[2J.md"),
    "device": ("https://e.com/con", "con_.md"),
    "device with extension": ("https://e.com/NUL.txt", "NUL_.txt.md"),
    "device as folder": ("https://e.com/aux/page", "aux_/page.md"),
    "superscript device": ("https://e.com/COM%C2%B9", "COM¹_.md"),
    "hidden folder": ("https://e.com/.git/hooks/post-checkout", "%2Egit/hooks/post-checkout.md"),
    "only dots": ("https://e.com/.../x", "%2E.%2E/x.md"),
    "only an ending": ("https://e.com/d/.md", "d/%2Emd.md"),
    "trailing dot": ("https://e.com/page./", "page%2E/index.md"),
    "trailing space": ("https://e.com/page%20/x", "page%20/x.md"),
    "clock of DOS": ("https://e.com/CLOCK$/clock$.txt", "CLOCK$_/clock$_.txt.md"),
    "empty segments": ("https://e.com/a//b", "a/_/b.md"),
    "query": ("https://e.com/view?id=7&x=/../y", "view@id=7&x=%2F..%2Fy.md"),
    "query of the root": ("https://e.com/?p=1", "index@p=1.md"),
    "wildcards and pipes": ("https://e.com/a*b|c<d>", "a%2Ab%7Cc%3Cd%3E.md"),
    "quotes": ('https://e.com/"q"', "%22q%22.md"),
    "umlaut": ("https://e.com/%C3%BCber", "über.md"),
    "not UTF-8": ("https://e.com/%ff%fe", "%FF%FE.md"),
    "right-to-left override": ("https://e.com/%E2%80%AEdm.exe", "%E2%80%AEdm.exe.md"),
    "zero width space": ("https://e.com/a%E2%80%8Bb", "a%E2%80%8Bb.md"),
    "folder that looks like a file": ("https://e.com/page.md/x", "page.md_/x.md"),
    "other host": ("https://api.e.com/v1", "@api.e.com/v1.md"),
    "other port": ("https://e.com:8443/v1", "@e.com%3A8443/v1.md"),
    "folder that looks like a host": ("https://e.com/@api.e.com/v1", "%40api.e.com/v1.md"),
    "shell metacharacters": ("https://e.com/$(rm -rf ~);`id`", "$(rm -rf ~);`id`.md"),
}


@pytest.mark.parametrize(("url", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_urls_become_safe_names(url: str, expected: str) -> None:
    names = MirrorNames("e.com")
    names.name("https://e.com/")
    name = names.name(url)
    assert re.sub(r"~[0-9a-f]{8}(?=\.md$)", "~…", name) == expected
    assert_safe(name)


def assert_safe(name: str) -> None:
    """What holds for every name: inside the folder, and taken by the three systems."""
    assert name and not name.startswith("/") and posixpath.normpath(name) == name
    assert len(name.encode()) <= MAX_PATH + 80
    for segment in name.split("/"):
        assert segment not in {"", ".", ".."}
        assert len(segment.encode()) <= 255
        assert not set(segment) & set('<>:"|?*\\\0')
        assert not segment.startswith((".", " ")) and not segment.endswith((".", " "))
        assert all(
            unicodedata.category(character) not in {"Cc", "Cf", "Cs"} for character in segment
        )
        assert segment.split(".")[0].upper() not in DEVICES
    assert name.endswith(".md")
    assert not any(folder.lower().endswith(".md") for folder in name.split("/")[:-1])


DEVICES = {"CON", "PRN", "AUX", "NUL", "COM1", "LPT9", "CLOCK$"}


COLLIDING = {
    "case": ("https://e.com/Guide", "https://e.com/guide"),
    "case of a folder": ("https://e.com/API/x", "https://e.com/api/x"),
    "ending": ("https://e.com/a.html", "https://e.com/a"),
    "Unicode form": ("https://e.com/%C3%A9", "https://e.com/e%CC%81"),
    "sharp s": ("https://e.com/stra%C3%9Fe", "https://e.com/STRASSE"),
    "long names": (f"https://e.com/{LONG}a", f"https://e.com/{LONG}b"),
    "long paths": (f"https://e.com/{'d/' * 300}a", f"https://e.com/{'d/' * 300}b"),
    "device and its stand-in": ("https://e.com/con", "https://e.com/con_"),
    "empty segment and its stand-in": ("https://e.com/a//b", "https://e.com/a/_/b"),
    "query and its stand-in": ("https://e.com/a?b=1", "https://e.com/a@b=1"),
    "encoded percent": ("https://e.com/%2500", "https://e.com/%00"),
    "folder that looks like a file": ("https://e.com/p.md/x", "https://e.com/p.md_/x"),
    "scheme": ("http://e.com/a", "https://e.com/a"),
}


@pytest.mark.parametrize("urls", COLLIDING.values(), ids=COLLIDING)
def test_two_pages_never_share_a_file(urls: tuple[str, str]) -> None:
    names = MirrorNames("e.com")
    first, second = map(names.name, urls)
    assert unicodedata.normalize("NFC", first.casefold()) != unicodedata.normalize(
        "NFC", second.casefold()
    )
    assert_safe(first)
    assert_safe(second)


def test_a_name_once_given_stays() -> None:
    first = MirrorNames("e.com")
    given = {
        identity(url): first.name(url) for url in ("https://e.com/b/Page", "https://e.com/b/page")
    }
    later = MirrorNames("e.com", given)
    later.name("https://e.com/B/PAGE")
    assert {url: later.name(url) for url in reversed(list(given))} == given


segments = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "..",
        ".",
        "",
        "%2e%2e",
        "%2f",
        "%5c",
        "con",
        "AUX.x",
        "a.md",
        "A.html",
        "index",
        "~",
        "@h",
        "x" * 260,
    ]
)
paths = st.lists(segments, max_size=6).map("/".join)
hosts = st.sampled_from(["e.com", "api.e.com", "e.com:8080"])
urls = st.builds("https://{}/{}".format, hosts, paths)


@given(st.lists(urls, min_size=1, max_size=20))
def test_any_urls_get_names_inside_the_folder_that_differ(found: list[str]) -> None:
    pages = {}
    for url in found:
        try:
            pages[identity(url)] = url
        except ValueError:
            continue  # no URL: the crawl leaves it out
    names = MirrorNames("e.com")
    given_names = [names.name(url) for url in pages.values()]
    for name in given_names:
        assert_safe(name)
    assert len({unicodedata.normalize("NFC", name.casefold()) for name in given_names}) == len(
        pages
    )
    files = {name.casefold() for name in given_names}
    folders = {
        name.casefold()[:place] for name in given_names for place, c in enumerate(name) if c == "/"
    }
    assert not files & folders


@given(paths, paths)
def test_a_relative_link_leads_to_the_file(one: str, other: str) -> None:
    try:
        here, there = (
            safe_name(identity(f"https://e.com/{path}"), "e.com") for path in (one, other)
        )
    except ValueError:
        return
    link = link_path(here, there)
    assert posixpath.normpath(posixpath.join(posixpath.dirname(here), unquote(link))) == there
