"""Of which kinds a change is."""

import re
from typing import get_args

from llmsspider.content.markdown import commonmark
from llmsspider.items import ChangeKind
from llmsspider.web.text import valid_text

_WORDS = re.compile(r"\w+|[^\w\s]")


def change_kinds(before: str, after: str) -> list[ChangeKind]:
    r"""Return what differs between two contents of a page, in the order of `ChangeKind`; never
    nothing.

    `text` is prose and code inside of it, `code` blocks of code, `addresses` where links and
    pictures lead. The structure is the levels of the headings and, around the same words, all other
    markup.

    >>> change_kinds("# A\n\nOne [b](/b).", "## A\n\nOne **[b](/c)**.")
    ['structure', 'addresses']
    """
    old = _Parts(before)
    new = _Parts(after)
    is_text = old.words != new.words
    is_code = "".join(old.code) != "".join(new.code)
    is_address = old.addresses != new.addresses
    is_structure = old.levels != new.levels or (
        old.markup != new.markup and not (is_text or is_code)
    )
    is_structure = is_structure or not (is_text or is_code or is_address)
    found = zip(get_args(ChangeKind), (is_text, is_code, is_structure, is_address), strict=True)
    return [kind for kind, differs in found if differs]


class _Parts:
    """The words, blocks of code, addresses, levels of headings and markup of a content, each in its
    order.
    """

    def __init__(self, content: str):
        self.words: list[str] = []
        self.code: list[str] = []
        self.addresses: list[str] = []
        self.levels: list[str] = []
        self.markup: list[str] = []
        into: list[str] = self.words
        for event in commonmark.events(valid_text(content)):
            kind, value = next(iter(event.items())) if isinstance(event, dict) else (event, "")
            name, inner = next(iter(value.items())) if isinstance(value, dict) else (value, {})
            if kind not in {"Start", "End"}:
                self.markup += [kind] * (kind not in {"Text", "SoftBreak"})
                # of the picture's file
                is_name = into is self.addresses and " " not in value and "." in value
                into += [value] if into is self.code or is_name else ()
                self.words += _WORDS.findall(value) if into is not self.code and not is_name else ()
                continue
            self.markup.append(f"{kind} {name}")
            into = self.words
            if kind == "Start" and name == "CodeBlock":
                into = self.code
                self.markup.append(str(inner))
            elif kind == "Start" and name == "Heading":
                self.levels.append(inner["level"])
            elif kind == "Start" and name in {"Link", "Image"}:
                into = self.addresses if name == "Image" else into
                self.addresses.append(inner["dest_url"])
