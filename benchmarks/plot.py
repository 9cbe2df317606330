"""Draw results.json: `plot.py RESULTS FILE.svg`, by compare.py, in the environment of peers/plot.txt."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "llmsspider", "svg.fonttype": "none", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402

OURS = "llmsspider"
PARTS = {"python": "Python documentation", "postgresql": "PostgreSQL documentation"}
FIGURES = {"cpu_secs": "CPU ms a page, all processes", "wall_secs": "wall ms a page"}
COLOURS = {True: "#1f6feb", False: "#8b949e"}


def values(part: dict[str, Any], what: str) -> dict[str, float]:
    """Return the median of each crawler in milliseconds a page, the lowest first."""
    found: dict[str, list[float]] = {}
    for rows in part["rounds"]:
        for row in rows:
            if "failed" not in row:
                found.setdefault(row["name"], []).append(1000 * row[what] / max(row["pages"], 1))
    middles = {name: median(numbers) for name, numbers in found.items()}
    return dict(sorted(middles.items(), key=lambda item: item[1]))


def draw(figures: dict[str, Any], file: Path) -> None:
    """Write the plot: a row of panels for each site, a bar for each crawler."""
    parts = [part for part in PARTS if part in figures]
    heights = [len(values(figures[part], "cpu_secs")) for part in parts]
    figure, panels = plt.subplots(
        max(len(parts), 1),
        2,
        figsize=(11, 1.2 + 0.42 * sum(heights)),
        squeeze=False,
        layout="constrained",
        gridspec_kw={"height_ratios": heights or [1]},
    )
    for part, row in zip(parts, panels, strict=False):
        for (what, title), panel in zip(FIGURES.items(), row, strict=True):
            found = values(figures[part], what)
            names = list(reversed(found))
            bars = panel.barh(
                names,
                [found[name] for name in names],
                color=[COLOURS[name == OURS] for name in names],
            )
            panel.bar_label(bars, fmt="%.1f", padding=3)
            panel.set_title(f"{PARTS[part]}: {title}", fontsize=9, loc="left")
            panel.margins(x=0.12)
            panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
