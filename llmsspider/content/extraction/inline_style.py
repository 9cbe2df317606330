"""Detection of inline styles that hide an element: by size, position, colour, clip or opacity."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_STYLE = 2_000
"""Maximum number of characters of a style attribute that are read."""
_ESCAPE = re.compile(r"\\([0-9a-f]{1,6})[ \t\n]?|\\(.)", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
_MOVED = re.compile(r"(?:translate[xyz3d]{0,2}\()[^)]{0,80}-(?:\d{4,}px|\d{3,}(?:em|rem|vw|vh|%))")
_FLAT = re.compile(r"scale[xy]?\(0(?:\.0{1,9})?(?:,0(?:\.0{1,9})?)?\)|rotate[xy]\(-?90deg\)")
_NO_ALPHA = re.compile(
    r"transparent|(?:rgba|hsla|rgb|hsl)\([^)]{0,60}[,/]0?(?:\.0{1,9})?%?\)|#(?:[0-9a-f]{3}0|[0-9a-f]{6}00)"
)
_CLIPPED = re.compile(
    r"rect\((?:[01](?:px)?[, ]?){4}\)|inset\((?:50|100)%(?: ?(?:50|100)%){0,3}\)"
    r"|circle\(0[a-z%]{0,3}(?: at [^)]{0,40})?\)"
    r"|polygon\((?:0[a-z%]{0,3} 0[a-z%]{0,3},? ?){1,9}\)"
)
_MOVING = ("transform", "translate", "transition", "animation", "will-change")
_FAR = {
    "px": 999.0,
    "em": 60.0,
    "rem": 60.0,
    "vw": 100.0,
    "vh": 100.0,
    "%": 100.0,
    "pt": 700.0,
    "ch": 120.0,
    "cm": 25.0,
    "in": 10.0,
}


@lru_cache(maxsize=4096)
def is_unseen(style: str) -> bool:
    """Say whether an inline style hides its element.

    >>> is_unseen("color:red; display : NONE !important"), is_unseen("opacity:0.5")
    (True, False)
    """
    rules = _declarations(style)
    if (
        rules.get("display") == "none"
        or rules.get("visibility") in {"hidden", "collapse"}
        or rules.get("content-visibility") == "hidden"
    ):
        return True
    if not any(name in style.lower() for name in _MOVING) and _is_zero(
        rules.get("opacity") or _argument(rules.get("filter", ""), "opacity")
    ):
        return True
    return _is_tiny(rules) or _is_far(rules) or _is_transparent(rules) or _is_cut(rules)


def _declarations(style: str) -> dict[str, str]:
    style = _ESCAPE.sub(_unescaped, _without_comments(style)).lower()
    found = {}
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        found[name.strip()] = " ".join(value.replace("!important", " ").split()).replace(", ", ",")
    return found


def _without_comments(style: str) -> str:
    first, *parts = style.split("/*")
    return first + "".join(part.partition("*/")[2] for part in parts)


def _unescaped(found: re.Match[str]) -> str:
    return chr(min(int(found[1], 16), 0x10FFFF)) if found[1] else found[2]


def _argument(value: str, function: str) -> str:
    return value.partition(f"{function}(")[2].partition(")")[0]


def _number(value: str) -> float | None:
    found = _NUMBER.match(value[:40])
    return float(found[0]) if found else None


def _is_zero(value: str, most: float = 0.02) -> bool:
    number = _number(value)
    if number is None:
        return False
    return abs(number) <= (most * 100 if "%" in value else most)


def _is_tiny(rules: dict[str, str]) -> bool:
    """Say whether the font or the box has no size; a box of one pixel counts if its overflow is hidden."""
    if "font-size" in rules and _is_zero(rules["font-size"], 1.0 if "px" in rules["font-size"] else 0.05):
        return True
    font = rules.get("font", "").partition("/")[0].rpartition(" ")[2]
    if font and _is_zero(font, 0.5):
        return True
    if _is_zero(rules.get("zoom", "")) or _is_zero(rules.get("scale", "")):
        return True
    if not rules.get("overflow", rules.get("overflow-y", rules.get("overflow-x", ""))).startswith(
        ("hidden", "clip")
    ):
        return False
    names = ("height", "width", "max-height", "max-width", "block-size", "inline-size", "line-height")
    return any(_is_zero(rules[name], 1.0) for name in names if name in rules and "%" not in rules[name])


def _is_far(rules: dict[str, str]) -> bool:
    names = ["text-indent", "margin-left", "margin-right", "margin-top", "margin"]
    if rules.get("position") in {"absolute", "fixed", "relative"}:
        names += ["left", "right", "top", "bottom", "inset"]
    return any(_distance(rules[name]) for name in names if name in rules) or bool(
        _MOVED.search(rules.get("transform", "")[:200])
    )


def _distance(value: str) -> bool:
    """Say whether a length moves the element out of the window."""
    for word in value.replace("calc(", "").split(" ")[:4]:
        number = _number(word)
        unit = word.lstrip("-.0123456789")
        if number is not None and abs(number) >= _FAR.get(unit, float("inf")):
            return number < 0 or abs(number) >= 5 * _FAR[unit]
    return False


def _is_transparent(rules: dict[str, str]) -> bool:
    if "text" in rules.get("background-clip", rules.get("-webkit-background-clip", "")):
        return False  # text filled with its background, which is visible
    fill = rules.get("-webkit-text-fill-color", rules.get("color", "")).replace(" ", "")
    background = rules.get("background-color", rules.get("background", "")).replace(" ", "")
    if not fill:
        return False
    return bool(_NO_ALPHA.fullmatch(fill)) or _colour(fill) == _colour(background)


_COLOURS = {"white": "#ffffff", "black": "#000000", "#fff": "#ffffff", "#000": "#000000",
            "rgb(255,255,255)": "#ffffff", "rgb(0,0,0)": "#000000"}  # fmt: skip


def _colour(value: str) -> str:
    return _COLOURS.get(value, value)


def _is_cut(rules: dict[str, str]) -> bool:
    return bool(
        _CLIPPED.search(rules.get("clip", "")[:200])
        or _CLIPPED.search(rules.get("clip-path", "")[:200])
        or (_FLAT.search(rules.get("transform", "")[:200]) and "transition" not in rules)
    )
