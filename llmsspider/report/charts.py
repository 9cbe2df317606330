"""Charts as inline SVG: a few shapes, so no library is carried along. Colours are CSS classes of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from llmsspider.progress import duration

WIDTH = 640
HEIGHT = 160


def timeline(points: Sequence[tuple[float, int, int]]) -> Markup:
    """Draw pages done and errors over time; `points` are (seconds, done, errors)."""
    if len(points) < 2 or points[-1][0] <= 0:
        return Markup("")
    end, top = points[-1][0], max(points[-1][1], 1)
    done = _polyline([(secs / end, value / top) for secs, value, _ in points])
    errors = _polyline([(secs / end, value / top) for secs, _, value in points])
    label = f"{points[-1][1]:,} pages and {points[-1][2]:,} errors in {duration(end)}"
    return Markup(
        '<p class="axis"><span>{top:,} pages</span><span><span class="key">pages done</span> '
        '<span class="key bad">errors</span></span></p>'
        '<svg class="chart" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        '<path class="area" d="{done} L{w} {h} L0 {h} Z"/><path class="line" d="{done}"/>'
        '<path class="line bad" d="{errors}"/></svg>'
        '<p class="axis"><span>0</span><span>{end}</span></p>'
    ).format(
        w=WIDTH,
        h=HEIGHT,
        label=label,
        done=Markup(done),  # noqa: S704  # numbers only
        errors=Markup(errors),  # noqa: S704  # numbers only
        top=top,
        end=duration(end),
    )


def bars(values: Mapping[str, int]) -> Markup:
    """Draw one bar for each name, the longest first."""
    most = max(values.values(), default=0)
    rows = [
        f'<div class="bar"><span>{escape(name)}</span>'
        f'<div><i class="w{_twentieths(value, most)}"></i></div><b>{value:,}</b></div>'
        for name, value in sorted(values.items(), key=lambda item: -item[1])
    ]
    return Markup("".join(rows))  # noqa: S704  # each name is escaped above


def _twentieths(value: int, most: int) -> int:
    return max(round(20 * value / most), 1) if value and most else 0


def _polyline(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x * WIDTH:.1f} {HEIGHT - 2 - y * (HEIGHT - 4):.1f}" for x, y in points)
