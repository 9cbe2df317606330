"""No reader of the package takes more than linear work, whatever text it is given.

Counted are lines of Python, not seconds; `test_linear_patterns.py` counts what happens inside of patterns.
"""

import logging
import random

import pytest
from readers import PREFIXES, PUMPS, lines_run, pumped, readers

READERS = list(readers())
LENGTH = 300
TRIES = 30
LINEAR = 9.0
"""Growth of the lines run for a text four times as long: 4 is linear, 16 quadratic."""

FEW = 2
"""Lines a character that the short text may take: some work begins above a length only."""


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_every_reader_runs_a_linear_number_of_lines(reader):
    logging.disable(logging.CRITICAL)
    chance = random.Random(reader.name)
    grown = {}
    for _ in range(TRIES):
        prefix, pump = chance.choice(PREFIXES), chance.choice(PUMPS)
        short, long = pumped(prefix, pump, LENGTH), pumped(prefix, pump, 4 * LENGTH)
        first = lines_run(lambda text=short: reader.call(text), 10**6)
        second = lines_run(lambda text=long: reader.call(text), 10**6)
        if second > LINEAR * max(first, FEW * LENGTH):
            grown[prefix, pump] = (first, second)
    logging.disable(logging.NOTSET)

    assert grown == {}


def test_the_package_is_searched_whole():
    names = {reader.name for reader in READERS}

    assert {
        "web.outcomes.challenge_of",
        "content.extraction.convert(body)",
        "web.page_forms.header_links(header)",
        "site.llmstxt_parser.parse(text)",
        "content.markdown.read(text)",
        "site.sitemaps.read",
    } <= names
    assert len(names) > 100


def test_quadratic_work_is_caught():
    def slow(text: str) -> int:
        found = 0
        for start in range(len(text)):
            for letter in text[start:]:
                found += letter == "a"
        return found

    first, second = (
        lines_run(lambda size=size: slow("b" * size), 10**7) for size in (LENGTH, 4 * LENGTH)
    )

    assert second > LINEAR * first
