"""The figures of compare.py as a page: targets first, then a table for each part."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import contestants

Row = dict[str, Any]
Part = dict[str, Any]
Figures = dict[str, Part]

OURS = contestants.OURS.name
LINK_ONLY = contestants.LINK_ONLY.name
ALLOWED = 12
"""Requests of discovery that a crawl may add to those for its documents."""


# --- figures ---


def rows_of(part: Part, name: str) -> list[Row]:
    """Return the rows of one crawler, a round each, without those that failed."""
    return [
        row
        for rows in part["rounds"]
        for row in rows
        if row["name"] == name and "failed" not in row
    ]


def names_of(part: Part) -> list[str]:
    """Return the crawlers of a part in the order of the first round, ours first."""
    names = dict.fromkeys(row["name"] for rows in part["rounds"] for row in rows)
    return sorted(names, key=lambda name: name != OURS)


def per_page(row: Row, what: str) -> float:
    """Return CPU or wall seconds of a page."""
    return float(row[what]) / max(row["pages"], 1)


def per_document(row: Row, what: str) -> float:
    """Return CPU or wall seconds of a document."""
    return float(row[what]) / max(row["documents"] or 0, 1)


def ratios(part: Part, one: str, other: str, figure: Callable[[Row], float]) -> list[float]:
    """Return the ratio of two crawlers for each round that has both."""
    found = []
    for rows in part["rounds"]:
        named = {row["name"]: row for row in rows if "failed" not in row}
        if one in named and other in named:
            found.append(figure(named[one]) / figure(named[other]))
    return found


def requests_of(part: Part, name: str) -> list[float]:
    """Return requests for each document, without the allowed ones of discovery."""
    return [
        (row["requests"] - ALLOWED) / max(row["documents"] or 0, 1) for row in rows_of(part, name)
    ]


def growth_ratio(part: Part) -> list[float]:
    """Return CPU of a page of the large site to that of the small one, without what one page costs (starting)."""
    one, small, large = (rows_of(part, f"{pages:,} pages") for pages in part["pages"])
    starting = median(row["cpu_secs"] for row in one)

    def page(row: Row) -> float:
        return float((row["cpu_secs"] - starting) / (row["pages"] - 1))

    return [page(large[0]) / median(map(page, small))] if large and small else []


@dataclass(frozen=True)
class Target:
    """One line of the table of targets."""

    measure: str
    part: str
    most: float
    figures: Callable[[Part], list[float]]
    unit: str = "×"


def _against(other: str, what: str) -> Callable[[Part], list[float]]:
    return lambda part: ratios(part, OURS, other, lambda row: per_page(row, what))


def _first_request(row: Row) -> float:
    return float(row["first_request_secs"])


TARGETS = (
    Target(
        "CPU, children included, to tuned link-only Scrapy",
        "python",
        2.2,
        _against(LINK_ONLY, "cpu_secs"),
    ),
    Target(
        "wall to tuned link-only Scrapy",
        "python",
        1.8,
        _against(LINK_ONLY, "wall_secs"),
    ),
    Target(
        "CPU a page to crawlee with the same converter",
        "python",
        0.4,
        _against(contestants.CRAWLEE.name, "cpu_secs"),
    ),
    Target(
        "CPU a page to crawl4ai over HTTP",
        "python",
        0.12,
        _against(contestants.CRAWL4AI.name, "cpu_secs"),
    ),
    Target("wall to `wget -r`", "python", 1.5, _against(contestants.WGET.name, "wall_secs")),
    Target(
        "CPU, children included, to tuned link-only Scrapy (PostgreSQL's)",
        "postgresql",
        1.6,
        _against(LINK_ONLY, "cpu_secs"),
    ),
    Target(
        "wall to tuned link-only Scrapy (PostgreSQL's)",
        "postgresql",
        1.8,
        _against(LINK_ONLY, "wall_secs"),
    ),
    Target(
        "wall to `wget -r` (PostgreSQL's)",
        "postgresql",
        1.5,
        _against(contestants.WGET.name, "wall_secs"),
    ),
    Target(
        "Markdown-native site, CPU a document to HTML",
        "text",
        0.5,
        lambda part: ratios(part, "Markdown", "HTML", lambda row: per_document(row, "cpu_secs")),
    ),
    Target(
        "llms-full site, wall a document to HTML",
        "text",
        0.2,
        lambda part: ratios(part, "llms-full", "HTML", lambda row: per_document(row, "wall_secs")),
    ),
    Target(
        "unchanged recrawl with ETags, CPU to the first crawl",
        "recrawl",
        0.15,
        lambda part: ratios(part, "unchanged", "first", lambda row: row["cpu_secs"]),
    ),
    Target(
        "indexing for search, CPU to the crawl",
        "index",
        0.1,
        lambda part: ratios(part, "indexing", OURS, lambda row: row["cpu_secs"]),
    ),
    Target(
        "a crawl of one page, CPU",
        "start",
        1.2,
        lambda part: [row["cpu_secs"] for row in rows_of(part, OURS)],
        unit=" s",
    ),
    Target("CPU a page of the large site to the small one", "growth", 1.1, growth_ratio),
    Target(
        "memory of all processes, very large site",
        "memory",
        800,
        lambda part: [row["peak_mib"] for row in part["rounds"][0]],
        unit=" MiB",
    ),
    Target(
        f"requests a document, Markdown-native site ({ALLOWED} set aside)",
        "text",
        1.10,
        lambda part: requests_of(part, "Markdown"),
        unit="",
    ),
    Target(
        f"requests a document, HTML site ({ALLOWED} set aside)",
        "python",
        1.05,
        lambda part: requests_of(part, OURS),
        unit="",
    ),
    Target(
        "start to first request, to an empty Scrapy project",
        "start",
        2.0,
        lambda part: ratios(part, OURS, "empty Scrapy project", _first_request),
    ),
)


# --- the page ---


def page(figures: Figures, plot: str) -> str:
    """Return the whole page."""
    parts = [
        "# Performance: results",
        "Written by `make bench`; do not edit. What is measured, and how: [performance.md](performance.md).",
        machine(next(iter(figures.values()))),
        targets(figures),
    ]
    parts += [f"![CPU and wall time of a page]({plot})"] if set(TITLES) & set(figures) else []
    parts += [section(name, figures[name]) for name in TITLES if name in figures]
    return "\n\n".join(parts) + "\n"


def targets(figures: Figures) -> str:
    """Return the table of targets: median of the rounds, lowest and highest."""
    lines = ["| measure | target | measured | lowest – highest | |", "|---|---|---|---|---|"]
    for target in TARGETS:
        found = target.figures(figures[target.part]) if target.part in figures else []
        aim = f"≤ {target.most:g}{target.unit}"
        if not found:
            lines.append(f"| {target.measure} | {aim} | not measured | | |")
            continue
        middle = median(found)
        span = f"{number(min(found))} – {number(max(found))}" if len(found) > 1 else "one run"
        verdict = "met" if middle <= target.most else f"missed by {middle / target.most - 1:.0%}"
        lines.append(
            f"| {target.measure} | {aim} | {number(middle)}{target.unit} | {span} | {verdict} |"
        )
    return "\n".join(lines)


def number(value: float) -> str:
    """Return a figure with about three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


TITLES = {"python": "Python documentation"}
"""The parts whose crawlers are compared in a table; of the others the table of targets has the figures."""


def section(name: str, part: Part) -> str:
    """Return the section of a part: what was crawled, the table, the load and our version."""
    rounds = part.get("times") or len(part["rounds"])
    head = f"{part['site']}; {rounds} round{'s' if rounds > 1 else ''}, {part['minutes']:g} minutes, {part['date']}; "
    head += f"{part['versions'][0]}, load {part['load_before']:g}."
    blocks = [f"## {TITLES[name]}", head, table(part)]
    return "\n\n".join(blocks)


def machine(part: Part) -> str:
    """Return the machine and the versions that all parts share."""
    where = part["machine"].partition(", load")[0]
    return textwrap.fill(f"{where}; {', '.join(part['versions'][1:])}.", 150)


COLUMNS = (
    ("pages", lambda row: row["pages"]),
    ("documents", lambda row: row["documents"]),
    ("requests", lambda row: row["requests"]),
    (
        "CPU ms/page",
        lambda row: 1000 * row["cpu_secs"] / max(row["pages"], row["documents"] or 0, 1),
    ),
    ("wall s", lambda row: row["wall_secs"]),
    ("peak MiB", lambda row: row["peak_mib"]),
)


def table(part: Part) -> str:
    """Return medians of each crawler, and of its ratios to ours where ours took part."""
    names = names_of(part)
    compared = OURS in names and len(names) > 1
    head = ["crawler", *(title for title, _ in COLUMNS)]
    head += ["CPU/page to ours", "wall to ours"] if compared else []
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name in names:
        rows = rows_of(part, name)
        cells = [name]
        for _, figure in COLUMNS:
            values = [value for row in rows if (value := figure(row)) is not None]
            cells.append(_integer_or(median(values)) if values else "–")
        if compared:
            for what in ("cpu_secs", "wall_secs"):
                found = ratios(part, name, OURS, lambda row, what=what: per_page(row, what))
                cells.append(f"{median(found):.2f}" if found else "–")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _integer_or(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else number(value)
