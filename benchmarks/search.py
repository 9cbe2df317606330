"""How well search finds: `python benchmarks/search.py --data-dir .scrapy/llmsspider SOURCE … [--questions FILE …]`.

Three kinds of queries, each over the stored pages of a source:

* notes: what llms.txt says of a page, with all notes, descriptions and link texts taken out of the index;
* descriptions: what pages say of themselves in their meta description, the same taken out;
* questions: written by hand, over the whole index, from files of JSON:
  {"source": …, "url": …, "questions": [{"query": …, "answers": [path, …], "text": …, "kind": …, "half": …}]}; the
  paths are ends of the URLs that answer, `text` stands in the passage that does. `half` is "tune" for what the
  ranking was tuned on, "held" for what it was not.

Beside ours: plain FTS5 (porter, one column for title, headings and text each) and, where they are installed, bm25s with
PyStemmer, over the same passages, pages in the order of their best passage.
`--synthetic N` measures time and size alone, over N pages of generated text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from llmsspider.answers.index import SourceIndex
from llmsspider.answers.library import OpenSource, results_of
from llmsspider.answers.words import STOP_WORDS, passages, words
from llmsspider.store import PageRecord, SourceRecord, Store, open_store

MOST = 10
"""Results that are looked at for the reciprocal rank."""

SHOWN = 5
"""Results whose texts are looked at for the answer."""

Find = Callable[[str], list[tuple[str, str]]]
"""A query to URLs of pages and what is shown of each, best first."""


@dataclass(frozen=True)
class Question:
    """A query and the URLs of the pages that answer it."""

    query: str
    answers: frozenset[str]
    text: str | None = None


@dataclass(frozen=True)
class Answered:
    """How a query was answered: the place of the first answer (0: none), whether its text was shown, how much was."""

    place: int
    is_shown: bool | None
    characters: int
    took_ms: float


class Bare:
    """A store whose pages are said nothing of by llms.txt, descriptions and links: that is what is asked for."""

    def __init__(self, store: Store):
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _bare(self, found: Iterator[Any]) -> Iterator[Any]:
        for one in found:
            bare = {"llms": None, "description": None}
            yield replace(one, record=replace(one.record, **bare))

    def changes_since(self, *args: Any) -> Iterator[Any]:
        """As the store's, bare."""
        return self._bare(self._store.changes_since(*args))

    def links_of(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """No links."""
        return {}

    def iter_pages(self, *args: Any, **options: Any) -> Iterator[Any]:
        """As the store's, bare."""
        return self._bare(self._store.iter_pages(*args, **options))


def ours(store: Any, folder: str) -> tuple[Find, SourceIndex, float]:
    """Our search over a store; with the CPU seconds of indexing."""
    index = SourceIndex.open(Path(folder) / "index.search", "bench")
    began = time.process_time()
    index.sync(store, "")
    spent = time.process_time() - began
    opened = OpenSource(SourceRecord("bench", ""), index, lambda: store)

    def find(query: str) -> list[tuple[str, str]]:
        found = opened.find(query)
        places = [(opened, page) for page in found.ranked]
        shown = results_of(found.query, places, MOST)
        return [(result.url.partition("#")[0], result.text) for result in shown]

    return find, index, spent


def plain_fts5(pages: list[PageRecord]) -> Find:
    """Plain FTS5 over the same passages."""
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5(title, headings, body, url UNINDEXED, tokenize='porter')"
    )
    for page in pages:
        content = page.content or ""
        rows = [
            (page.title or "", " ".join(one.heading_path), content[one.start : one.end], page.url)
            for one in passages(content)
        ]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)

    def find(query: str) -> list[tuple[str, str]]:
        asked = [word for word in words(query) if word not in STOP_WORDS] or words(query)
        match = " OR ".join(f'"{word}"' for word in asked)
        if not match:
            return []
        found = connection.execute(
            "SELECT url, body FROM t WHERE t MATCH ? ORDER BY rank LIMIT 400", (match,)
        )
        return best_of_pages(found)

    return find


def best_of_pages(passages: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The best passage of each page, of passages in their order."""
    found: dict[str, str] = {}
    for url, text in passages:
        found.setdefault(url, text)
    return list(found.items())[:MOST]


def peers(pages: list[PageRecord]) -> dict[str, Find]:
    """bm25s over the same passages, English stop words and stems; nothing where it is not installed."""
    try:
        import bm25s  # noqa: PLC0415
        from Stemmer import Stemmer  # noqa: PLC0415
    except ImportError:
        return {}
    rows = [
        (
            page.url,
            " ".join(
                (page.title or "", *one.heading_path, (page.content or "")[one.start : one.end])
            ),
        )
        for page in pages
        for one in passages(page.content or "")
    ]

    def cut(texts: list[str]) -> Any:
        return bm25s.tokenize(
            texts, stopwords="en", stemmer=Stemmer("english"), show_progress=False
        )

    index = bm25s.BM25()
    index.index(cut([text for _, text in rows]), show_progress=False)

    def find(query: str) -> list[tuple[str, str]]:
        places, _ = index.retrieve(cut([query]), k=min(400, len(rows)), show_progress=False)
        return best_of_pages(rows[place] for place in places[0])

    return {"bm25s": find}


def answered(find: Find, questions: list[Question]) -> list[Answered]:
    """How each question was answered."""
    return [_answer(find, question) for question in questions]


def _answer(find: Find, question: Question) -> Answered:
    began = time.perf_counter()
    found = find(question.query)
    took = 1000 * (time.perf_counter() - began)
    place = next((n for n, (url, _) in enumerate(found, 1) if url in question.answers), 0)
    shown = [text for url, text in found[:SHOWN] if url in question.answers]
    wanted = question.text and question.text.casefold()
    is_shown = any(wanted in text.casefold() for text in shown) if wanted else None
    return Answered(place, is_shown, sum(len(text) for _, text in found[:SHOWN]), took)


def score(answers: list[Answered]) -> dict[str, float]:
    """hit@1, hit@3, hit@5, mean reciprocal rank, share with the answer in the text of five results (of the questions
    that say it), characters of five results, and milliseconds (median, 95th percentile).
    """
    places = [one.place for one in answers]
    times = [one.took_ms for one in answers]
    said = [one.is_shown for one in answers if one.is_shown is not None]
    spread = quantiles(times, n=20) if len(times) > 1 else times * 19
    return {
        "queries": len(answers),
        "hit@1": mean(place == 1 for place in places),
        "hit@3": mean(0 < place <= 3 for place in places),
        "hit@5": mean(0 < place <= 5 for place in places),
        "MRR": mean(1 / place if place else 0 for place in places),
        **({"text@5": mean(said)} if said else {}),
        "characters": mean(one.characters for one in answers),
        "median ms": spread[9],
        "p95 ms": spread[18],
    }


def known_items(
    pages: list[PageRecord], text: Callable[[PageRecord], str | None]
) -> list[Question]:
    """What is said of each page, where it is said of one page alone and in three words at least."""
    said: dict[str, set[str]] = {}
    for page in pages:
        query = text(page)
        if query and len([word for word in words(query) if word not in STOP_WORDS]) >= 3:
            said.setdefault(" ".join(query.split()), set()).add(page.url)
    return [Question(query, frozenset(urls)) for query, urls in said.items() if len(urls) == 1]


def written(file: Path, source: str, pages: list[PageRecord]) -> dict[str, list[Question]]:
    """The questions of a file that are for a source, by their half (what was tuned on, what was held out) and kind."""
    given = json.loads(file.read_text(encoding="utf-8"))
    if given["source"] != source:
        return {}
    found: dict[str, list[Question]] = {}
    for one in given["questions"]:
        urls = frozenset(
            page.url for page in pages if any(_ends(page.url, path) for path in one["answers"])
        )
        if not urls:
            sys.exit(f"{file}: no page of {source} ends with {one['answers']}")
        what = ", ".join(one[part] for part in ("half", "kind") if part in one)
        found.setdefault(what or "questions", []).append(
            Question(one["query"], urls, one.get("text"))
        )
    return found


def _ends(url: str, path: str) -> bool:
    shape = re.sub(r"(?:/index)?(?:\.html?|\.md)?/?$", "", url)
    return (
        shape.endswith(re.sub(r"(?:/index)?(?:\.html?|\.md)?/?$", "", path))
        if path.strip("/")
        else url.count("/") == 3
    )


Totals = dict[tuple[str, str], list[Answered]]
"""What was answered, by kind of question and search."""


def report(
    what: str, source: str, questions: list[Question], searches: dict[str, Find], totals: Totals
) -> None:
    """Print a line for each search, and add to the totals."""
    for name, find in searches.items() if questions else ():
        answers = answered(find, questions)
        totals.setdefault((what, name), []).extend(answers)
        print_figures(source, what, name, answers)


def print_figures(source: str, what: str, name: str, answers: list[Answered]) -> None:
    """Print a line."""
    figures = "  ".join(
        f"{key} {value:.3f}" if key != "queries" else f"{value} queries"
        for key, value in score(answers).items()
    )
    print(f"{source:24} {what:18} {name:12} {figures}")


def synthetic(count: int) -> None:
    """Time, size and CPU over pages of generated words, which follow Zipf's law."""
    chance = random.Random(1)
    vocabulary = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 11)))
        for _ in range(20_000)
    ]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]

    def text(size: int) -> str:
        return " ".join(chance.choices(vocabulary, weights, k=size))

    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(None, Path(folder), "synthetic") as store,
    ):
        store.upsert_source(SourceRecord("synthetic", "https://e.com/"))
        store.begin_run("crawl", {})
        letters = 0
        for number in range(count):
            content = "".join(f"## {text(3).title()}\n\n{text(120)}\n\n" for _ in range(5))
            letters += len(content)
            url = f"https://e.com/{number}"
            store.save_page(
                PageRecord(
                    f"{number:032x}",
                    url,
                    url,
                    url,
                    title=text(3),
                    content=content,
                    content_hash=hashlib.sha256(content.encode()).hexdigest(),
                ),
                "new",
            )
        store.finish_run("finished", complete=True, why=None, counts={})
        find, index, spent = ours(store, folder)
        total = index.count()[1]
        got = score(answered(find, [Question(text(4), frozenset()) for _ in range(200)]))
        index.close()
        size = (Path(folder) / "index.search").stat().st_size
        print(
            f"{count} pages, {total} passages, {letters / 1e6:.0f} MB: indexed in {spent:.1f} s CPU "
            f"({1000 * spent / count:.2f} ms a page), {size / letters:.2f} of the text's size, "
            f"median {got['median ms']:.0f} ms, p95 {got['p95 ms']:.0f} ms"
        )


def main() -> None:
    """Measure each source."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--data-dir", type=Path, default=Path(".scrapy/llmsspider"))
    parser.add_argument("--questions", type=Path, nargs="*", default=[])
    parser.add_argument("--synthetic", type=int, metavar="N")
    options = parser.parse_args()
    if options.synthetic:
        synthetic(options.synthetic)
    totals: Totals = {}
    for source in options.sources:
        with (
            open_store(None, options.data_dir, source, create=False) as store,
            tempfile.TemporaryDirectory() as folder,
        ):
            pages = [one.record for one in store.iter_pages()]
            others = {"plain FTS5": plain_fts5(pages), **peers(pages)}
            find, index, spent = ours(Bare(store), folder)
            for what, text in (
                ("notes", lambda page: page.llms.description if page.llms else None),
                ("descriptions", lambda page: page.description),
            ):
                report(what, source, known_items(pages, text), {"ours": find, **others}, totals)
            index.close()
            (Path(folder) / "index.search").unlink()
            find, index, spent = ours(store, folder)
            letters = sum(len(page.content or "") for page in pages)
            for file in options.questions:
                for what, questions in written(file, source, pages).items():
                    report(what, source, questions, {"ours": find, **others}, totals)
            count = index.count()[1]
            index.close()
            size = (Path(folder) / "index.search").stat().st_size
            print(
                f"{source:24} {len(pages)} pages, {count} passages, "
                f"indexed in {spent:.2f} s CPU, {size / letters:.2f} of the text"
            )
    for (what, name), answers in totals.items():
        print_figures("all", what, name, answers)


if __name__ == "__main__":
    main()
