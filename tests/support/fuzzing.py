"""How many examples a property test tries: its own number in the suite, in proportion more under `make fuzz`."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100


def examples(number: int) -> settings:
    """Settings for a test that tries `number` examples in the suite; the profile `fuzz` multiplies it."""
    return settings(max_examples=max(1, number * settings().max_examples // USUAL))
