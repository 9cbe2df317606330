"""Which part of a page is content: the pages of WCXB, scored word by word.

    git clone https://github.com/Murrough-Foley/web-content-extraction-benchmark
    python benchmarks/wcxb.py CHECKOUT --rows new.jsonl [--type forum] [--half 0] [--texts FOLDER]
    python benchmarks/wcxb.py --compare old.jsonl new.jsonl

CHECKOUT is a clone of the benchmark (2,008 pages of seven types with the text that people marked as
content; CC-BY-4.0). Precision, recall and F1 compare the multisets of words of what a reader sees of the
Markdown with that text; all are means over pages. `required` and `forbidden` are the shares of the
benchmark's snippets that are found. Rules are tuned on one half of the split `dev` (`--half 0`, by the
hash of a page's number), the other half says whether they hold for pages nobody looked at.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from lxml import html as lxml_html
from markdown_it import MarkdownIt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from llmsspider.content.extraction import convert

Row = dict[str, Any]
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
LINES = (
    "p",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "td",
    "th",
    "pre",
    "br",
    "div",
    "blockquote",
)
LOST = 0.6
"""Recall below which a page counts as lost."""
CHANGED = 0.02
"""Difference of F1 from which on a page counts as better or worse."""


def shown_text(markdown: str) -> str:
    """Return the text of Markdown as a reader sees it."""
    rendered = PARSER.render(markdown)
    if not rendered.strip():
        return ""
    root = lxml_html.fragment_fromstring(rendered, create_parent="div")
    for element in root.xpath(".//script|.//style"):
        element.drop_tree()
    for element in root.iter(*LINES):
        element.tail = "\n" + (element.tail or "")
    return str(root.text_content())


def word_scores(text: str, truth: str) -> tuple[float, float, float]:
    """Return precision, recall and F1 of two texts as multisets of words."""
    said = Counter(re.findall(r"\w+", text.lower()))
    wanted = Counter(re.findall(r"\w+", truth.lower()))
    if not said or not wanted:
        return (1.0, 1.0, 1.0) if not said and not wanted else (0.0, 0.0, 0.0)
    same = sum((said & wanted).values())
    precision = same / sum(said.values())
    recall = same / sum(wanted.values())
    return precision, recall, 2 * precision * recall / (precision + recall) if same else 0.0


def share_found(snippets: list[str], text: str) -> float | None:
    """Return which share of the snippets is in `text`, white space and case aside; None for none."""
    words = " ".join(text.lower().split())
    found = [" ".join(snippet.lower().split()) in words for snippet in snippets]
    return sum(found) / len(found) if found else None


def score_page(truth_file: Path, texts: Path | None) -> Row | None:
    """Convert one page and score it; None where the benchmark has no text for it."""
    truth = json.loads(truth_file.read_text("utf-8"))
    told = truth["ground_truth"]
    if "main_content" not in told:
        return None
    url = truth.get("url") or "https://example.org/page"
    body = gzip.decompress(
        (truth_file.parent.parent / "html" / f"{truth_file.stem}.html.gz").read_bytes()
    )
    begin = time.process_time()
    try:
        markdown = convert(body, url, None).markdown
    except Exception as error:
        print(f"{truth_file.stem}: {error!r}"[:200], file=sys.stderr)
        markdown = ""
    spent = time.process_time() - begin
    text = shown_text(markdown)
    if texts is not None:
        (texts / f"{truth_file.stem}.md").write_text(markdown, "utf-8")
    precision, recall, f1 = word_scores(text, told["main_content"] or "")
    return {
        "page": truth_file.stem,
        "type": page_type(truth),
        "url": url,
        "p": precision,
        "r": recall,
        "f1": f1,
        "required": share_found(told.get("with") or [], text),
        "forbidden": share_found(told.get("without") or [], text),
        "cpu": spent,
    }


def page_type(truth: Row) -> str:
    name = str(truth["_internal"]["page_type"]["primary"])
    return {"category": "collection"}.get(name, name)


def half_of(truth_file: Path) -> int:
    """Return 0 or 1: the half of the split that a page belongs to."""
    return hashlib.sha256(truth_file.stem.encode()).digest()[0] % 2


def score_split(args: argparse.Namespace) -> list[Row]:
    """Score the pages of a split in two processes."""
    files = sorted((args.checkout / args.split / "ground-truth").glob("*.json"))
    if args.half is not None:
        files = [file for file in files if half_of(file) == args.half]
    if args.type:
        files = [
            file
            for file in files
            if page_type(json.loads(file.read_text("utf-8"))) in args.type.split(",")
        ]
    if args.texts:
        args.texts.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(args.processes) as pool:
        rows = pool.map(partial(score_page, texts=args.texts), files, chunksize=8)
        return [row for row in rows if row is not None]


def mean(rows: list[Row], name: str) -> float:
    values = [row[name] for row in rows if row[name] is not None]
    return sum(values) / len(values) if values else 0.0


def print_table(rows: list[Row]) -> None:
    """Print a line for each type of page, each half of the split, and all pages."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["type"]].append(row)
    for half in (0, 1):
        groups[f"half {half}"] = [row for row in rows if half_of(Path(row["page"])) == half]
    groups["all"] = rows
    print("type           pages  precision recall  F1     lost  required forbidden  ms")
    for name, group in groups.items():
        lost = sum(row["r"] < LOST for row in group)
        print(
            f"{name:14} {len(group):5}  {mean(group, 'p'):.3f}     {mean(group, 'r'):.3f}   "
            f"{mean(group, 'f1'):.4f} {lost:4}  {mean(group, 'required'):.3f}    "
            f"{mean(group, 'forbidden'):.3f}      {1000 * mean(group, 'cpu'):.1f}"
        )


def read_rows(path: Path) -> dict[str, Row]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["page"]: row for row in rows}


def compare(old_file: Path, new_file: Path, most: int) -> None:
    """Print the pages whose F1 changed between two runs, the worst loss first."""
    old = read_rows(old_file)
    new = read_rows(new_file)
    pages = sorted(old.keys() & new.keys(), key=lambda page: new[page]["f1"] - old[page]["f1"])
    changed = [page for page in pages if abs(new[page]["f1"] - old[page]["f1"]) >= CHANGED]
    worse = [page for page in changed if new[page]["f1"] < old[page]["f1"]]
    better = [page for page in reversed(changed) if page not in worse]
    for name, group in (("worse", worse), ("better", better)):
        print(f"{name}: {len(group)}", dict(Counter(new[page]["type"] for page in group)))
        for page in group[:most]:
            values = "  ".join(
                f"{key} {old[page][key]:.2f} -> {new[page][key]:.2f}" for key in ("p", "r", "f1")
            )
            print(f"  {page} {new[page]['type']:13} {values}  {new[page]['url'][:90]}")
    before = [old[page] for page in pages]
    after = [new[page] for page in pages]
    print(f"F1 {mean(before, 'f1'):.4f} -> {mean(after, 'f1'):.4f} of {len(pages)} pages")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--type", help="types of pages, with commas")
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rows", type=Path, help="write a JSON line for each page here")
    parser.add_argument("--texts", type=Path, help="write the Markdown of each page here")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"))
    parser.add_argument("--most", type=int, default=15, help="pages that --compare names")
    args = parser.parse_args()
    if args.compare:
        compare(*args.compare, args.most)
    elif args.checkout is None:
        parser.error("name a checkout of the benchmark, or --compare two files of rows")
    else:
        rows = score_split(args)
        print_table(rows)
        if args.rows:
            args.rows.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
