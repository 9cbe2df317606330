"""Rewriting where the links and images of a Markdown text lead, everything else left as it is."""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it.token import Token

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.+?)(?<!`)\1(?!`)", re.DOTALL)
_INLINE_TARGET = re.compile(
    r"(?<!\\)(\]\([ \t]*\n?[ \t]*)(<[^<>\n]*>|[^\s<>()]+(?:\([^\s()]*\)[^\s<>()]*)*)(?=\)|\s+[)\"'(])"
)
_DEFINITION = re.compile(r"^([ \t]{0,3}(?:>[ \t]?)*\[(?!\^)[^\]\n]+\]:[ \t]*)(<[^<>\n]*>|\S+)", re.MULTILINE)
_CODE_TOKENS = frozenset({"fence", "code_block", "html_block"})


def rewrite_destinations(text: str, tokens: list[Token], change: Callable[[str], str]) -> str:
    r"""Return `text` with `change` applied to each destination as it is written (in `<…>` or bare).

    Args:
        text: Markdown with `\n` line ends.
        tokens: what markdown-it-py's parser makes of `text`; code and HTML blocks are left alone.
        change: gets one destination and returns what stands in its place.
    """
    lines = text.split("\n")
    result: list[str] = []
    run: list[str] = []
    for line, is_code in zip(lines, _code_lines(tokens, len(lines)), strict=True):
        if is_code:
            result.extend(_rewritten(run, change))
            run = []
            result.append(line)
        else:
            run.append(line)
    return "\n".join([*result, *_rewritten(run, change)])


def _code_lines(tokens: list[Token], count: int) -> list[bool]:
    code = [False] * count
    for token in tokens:
        if token.type in _CODE_TOKENS and token.map:
            start, end = token.map
            code[start:end] = [True] * (min(end, count) - start)
    return code


def _rewritten(run: list[str], change: Callable[[str], str]) -> list[str]:
    text = "\n".join(run)
    if "]" not in text:
        return run
    pieces: list[str] = []
    for paragraph in re.split(r"(\n[ \t]*\n)", text):
        position = 0
        for masked in _CODE_SPAN.finditer(paragraph):
            pieces.append(_destinations(paragraph[position : masked.start()], change))
            pieces.append(masked.group(0))
            position = masked.end()
        pieces.append(_destinations(paragraph[position:], change))
    return "".join(pieces).split("\n")


def _destinations(text: str, change: Callable[[str], str]) -> str:
    def changed(found: re.Match[str]) -> str:
        return found.group(1) + change(found.group(2))

    return _DEFINITION.sub(changed, _INLINE_TARGET.sub(changed, text)) if "]" in text else text
