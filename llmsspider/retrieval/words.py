"""Words of documentation: identifiers whole and in parts, text without spaces in pairs of characters.

The index cuts text at everything that is no letter and no digit, so `LLMS_STORE_URL` is found by each part, and whole
as a phrase. What that leaves out (`useState`, text without spaces) is written beside the text as words of their own.
"""

from __future__ import annotations

import re
import unicodedata

_LETTERS = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_WORD = re.compile(r"[^\W_]+")

STOP_WORDS = frozenset(
    " ".join(
        [
            "a about after all also am an and any are as at be been before being between both but by can could",
            "did do does doing don for from had has have having he her here hers him his how i if in into is it",
            "its itself just let me more most my no nor not now of off on once only or other our out over own s",
            "same she should so some such t than that the their them then there these they this those through to",
            "too under until up us very was way we were what when where which while who whom why will with would",
            "you your yours want need mean means work works using use used",
        ]
    ).split()
)
"""English words that say nothing of what a question is about; a query of nothing else is asked as it stands."""


def words(text: str) -> list[str]:
    """The words of a text as the index sees them, but for stems.

    >>> words("scrapy.Request --dry-run LLMS_STORE_URL")
    ['scrapy', 'request', 'dry', 'run', 'llms', 'store', 'url']
    """
    return [found.casefold() for found in _WORD.findall(unicodedata.normalize("NFC", text))]


def humps(word: str) -> list[str]:
    """The parts of a word in camel case; nothing for another word.

    >>> humps("useState"), humps("HTTPServer"), humps("plain"), humps("HTTP")
    (['use', 'state'], ['http', 'server'], [], [])
    """
    if not _is_camel(word):
        return []
    parts = [part.casefold() for part in _HUMP.findall(word)]
    return parts if len(parts) > 1 else []


def _is_camel(word: str) -> bool:
    return not (word.islower() or word.isupper() or word.istitle()) and word.isalnum()


def pairs(run: str) -> list[str]:
    """The pairs of neighbouring characters of a run without spaces; a single character is itself.

    >>> pairs("安装指南")
    ['安装', '装指', '指南']
    """
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]


def unspaced(text: str) -> list[str]:
    """The runs of Chinese, Japanese or Korean characters in a text."""
    return [] if text.isascii() else _UNSPACED.findall(text)


def beside(text: str) -> str:
    """What the index is given beside a text: the parts of each word in camel case, and pairs of characters.

    >>> beside("call useState, then 安装")
    'use state 安装'
    """
    found = [" ".join(humps(word)) for word in dict.fromkeys(_LETTERS.findall(text)) if _is_camel(word)]
    found += [" ".join(pairs(run)) for run in unspaced(text)]
    return " ".join(found)
