"""Pages of full-text files: workers read them as the crawling process would; what shows that a file lags."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from llmsspider.content.markdown import Draft, draft
from llmsspider.content.markdown.commonmark import code_languages
from llmsspider.crawl.full_text import (
    Piece,
    ReadPiece,
    chosen,
    finished,
    read_pieces,
)
from llmsspider.crawl.link_bases import LinkBases
from llmsspider.errors import TooLargePageError
from llmsspider.items import Digest, content_hash, decompress, raw_hash
from llmsspider.store import PageRecord

SITE = "https://e.com"
PAGES = ["/guide/", "/guide/a/", "/guide/b/", "/guide/c/", "/guide/d/", "/api/x/"]


def learned(votes: int) -> LinkBases:
    """What is known once so many pages have shown that their links begin at the folder of the source file."""
    made = LinkBases(lambda: [SITE + page for page in PAGES], lambda url: url)
    for page in "abcd"[:votes]:
        url = f"{SITE}/guide/{page}/"
        made.look(url, url, "llms-full", ["b.md" if page != "b" else "a.md"])
    return made


def kept(bases: LinkBases, folder: Path) -> Path:
    path = folder / "bases"
    path.write_bytes(pickle.dumps(bases))
    return path


def read(text: str, bases: LinkBases, folder: Path, page: str = "/guide/a/"):
    return read_pieces([Piece(text, SITE + page, bases=kept(bases, folder))])[0]


def here(text: str, bases: LinkBases, page: str = "/guide/a/") -> ReadPiece:
    made, url = draft(text), SITE + page
    return finished(made, bases.join(bases.look(url, url, "llms-full", made.hrefs)), text)


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\n[b](b.md#x) and [gone](gone/)\n",
        "# A\n\n[b](/guide/b/) ![i](/img/i.png)\n",
        "# A\n\n[x](https://e.com/api/x.md) [y](https://other.org/y.md) [here](#a)\n",
        "---\ntitle: T\ncanonical: ../a/\n---\n\n```py\nx = 1\n```\n",
        "[z]: <c.md> 'C'\n\n# A\n\n[z] <https://me:pw@e.com/> \u200b\u200b\ud800 ä\n",
        "",
    ],
)
def test_a_worker_reads_a_page_as_the_crawl_would(text, tmp_path):
    made = read(text, learned(4), tmp_path)
    assert isinstance(made, ReadPiece)
    expected = here(text, learned(4))
    assert (made.page, made.digest, made.raw_hash) == (
        expected.page,
        expected.digest,
        expected.raw_hash,
    )
    assert made.raw_hash == raw_hash(text.encode("utf-8", "surrogatepass"))


def test_it_says_what_relative_links_begin_at_where_that_makes_a_difference(tmp_path):
    assert read("[b](b.md)\n", learned(4), tmp_path).base == "source"
    assert read("[b](/guide/b/)\n", learned(4), tmp_path).base is None


@pytest.mark.parametrize(
    ("text", "votes"),
    [
        ("[b](b.md)\n", 0),  # its own links decide for others
        ("[gone](gone/)\n", 0),  # those of others decide for it
    ],
)
def test_a_page_that_others_decide_about_comes_back_unjoined(text, votes, tmp_path):
    made = read(text, learned(votes), tmp_path)
    assert isinstance(made, Draft)
    assert made.hrefs == draft(text).hrefs


def test_a_link_that_takes_the_rule_of_its_host_is_left_to_the_crawl(tmp_path):
    assert isinstance(read("[new](new.md)\n", learned(4), tmp_path), Draft)


def test_without_what_links_are_relative_to_it_only_parses(tmp_path):
    (made,) = read_pieces([Piece("[b](b.md)\n", f"{SITE}/guide/a/")])
    assert isinstance(made, Draft)


def test_a_file_that_is_one_page_has_its_own_address_as_base():
    (made,) = read_pieces([Piece("[b](b.md)\n", f"{SITE}/llms-full.txt", base=f"{SITE}/docs/llms-full.txt")])
    assert made.page.markdown == "[b](https://e.com/docs/b.md)\n"


def test_a_page_whose_links_become_too_long_fails_alone():
    base = f"{SITE}/{'long' * 900}/"
    read = read_pieces([Piece("[a](b) " * 700, SITE, base=base), Piece("# B\n", SITE, base=base)])
    assert isinstance(read[0], TooLargePageError)
    assert read[1].page.meta.title == "B"


def test_what_is_read_is_the_same_after_pickling(tmp_path):
    made = read("# A\n\n[b](b.md)\n", learned(4), tmp_path)
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert again.digest.content is again.page.markdown


# --- what is derived from a content counts for that very content ---


def record(content: str) -> PageRecord:
    """A record with a digest of an equal text, which is another object."""
    made = PageRecord(id="1", identity=SITE, url=SITE, fetched_url=SITE, content=content)
    made.digest = Digest(content[:1] + content[1:], "0" * 64, ("derived",), b"frame")
    return made


def test_a_digest_of_another_object_does_not_count():
    made = record("```py\nx\n```\n")
    assert made.digest.content == made.content
    assert made.digest.content is not made.content
    assert made.hash_of_content == content_hash(made.content)
    made.content = "```rust\ny\n```\n"
    assert made.hash_of_content == content_hash(made.content)
    assert made.code_languages == ["rust"]
    assert decompress(made.frame).decode() == made.content


def test_a_digest_of_this_object_counts():
    made = record("text")
    made.content = made.digest.content
    assert (made.hash_of_content, made.code_languages, made.frame) == ("0" * 64, ["derived"], b"frame")
    made.content = None
    assert made.frame is None


def test_a_digest_is_what_a_record_without_one_derives():
    made = PageRecord(id="1", identity=SITE, url=SITE, fetched_url=SITE, content="```py\n\ud800\n```\n")
    without = made.hash_of_content, made.code_languages, made.frame
    made.digest = Digest.of(made.content, code_languages(made.content))
    assert (made.hash_of_content, made.code_languages, made.frame) == without


# --- which pages of a file are looked at ---


def test_every_page_has_its_turn_and_one_that_differed_is_asked_again():
    pages = [f"https://e.com/p{number}" for number in range(43)]
    turns = [chosen(pages, [], number, 2) for number in range(22)]
    assert {len(set(turn)) for turn in turns} == {2}
    assert {page for turn in turns for page in turn} == set(pages)
    for number in range(3):
        turn = chosen(pages, [pages[number]], number, 2)
        assert (len(turn), turn[0]) == (2, pages[number])
    assert chosen(pages[:3], [], 1, 3) == chosen(pages[:3], ["https://e.com/gone"], 1, 3), (
        "few pages, one sample"
    )
    assert chosen([], [], 1, 3) == []
