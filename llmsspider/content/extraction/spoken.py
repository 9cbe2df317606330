"""The language of a text, where that is plainly not English, which templates leave declared."""

import re
from collections import Counter

from llmsspider.items import Page
from llmsspider.web.loading import shipped_table
from llmsspider.web.trees import same_language

MAX_CHARACTERS = 20_000
"""Characters of a text that are looked at."""
MIN_WORDS = 8
"""So many of the commonest words of a language, and `CLEARLY` times as many as of others, show it."""
CLEARLY = 2

_LANGUAGES = shipped_table("llmsspider.content.extraction", "languages")
_WORDS: dict[str, list[str]] = {tag: words.split() for tag, words in _LANGUAGES["words"].items()}
_SCRIPTS: dict[str, re.Pattern[str]] = {
    tag: re.compile(letters) for tag, letters in _LANGUAGES["letters"].items()
}
_FENCE = re.compile(r"^(?:```|~~~).*$", re.MULTILINE)
_DESTINATION = re.compile(r"\]\([^()\s]*")
_WORD = re.compile(r"[^\W\d_]+")


def spoken(text: str) -> str | None:
    """Return the language that a Markdown text plainly is in; None where that is open.

    >>> spoken("Die Datei ist nicht für die Server, die mit der Datei und das ist nicht.")
    'de'
    """
    prose = "".join(_FENCE.split(text[:MAX_CHARACTERS])[::2])  # every second part is code
    words = _WORD.findall(_DESTINATION.sub(" ", prose).lower())
    letters = "".join(words)
    scripts = {} if letters.isascii() else _SCRIPTS
    for tag, script in scripts.items():
        if len(script.findall(letters)) * 5 > len(letters):
            return tag
    counts = Counter(words)
    found = Counter({tag: sum(counts[word] for word in of) for tag, of in _WORDS.items()})
    (tag, most), (_, second) = found.most_common(2)
    return tag if most >= max(MIN_WORDS, CLEARLY * second) else None


def spoken_language(page: Page) -> str | None:
    """Return the language of a page: the declared one, but for English, which templates leave."""
    declared = page.meta.language or ""
    if not same_language("en", declared):
        return declared or None
    language = spoken(page.markdown) or page.meta.locale or ""
    return language if language and not same_language("en", language) else declared
