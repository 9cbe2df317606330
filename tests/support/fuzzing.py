"""How many examples a property test tries: half of its own number in the suite, many times that under `make fuzz`."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100


def examples(number: int) -> settings:
    """Settings for a test that tries `number` examples where others try 100; the profiles multiply it."""
    return settings(max_examples=max(1, number * settings().max_examples // USUAL))
