"""What the first worker found, on its way to the others: discovery without the bodies of its answers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from llmsspider.discovery import Answer, Discovery
from llmsspider.items import Page, PageMeta, Section


@dataclass(slots=True)
class Found:
    """Discovery, what the start page links to, and what was learned of the site meanwhile."""

    discovery: Discovery
    follow: list[str] = field(default_factory=list)
    hreflang: dict[str, str] = field(default_factory=dict)
    forms: dict[str, Any] = field(default_factory=dict)
    soft404_hashes: list[str] = field(default_factory=list)
    section: Section | None = None

    @property
    def start_page(self) -> Page:
        """The start page, as far as the scope needs it."""
        return Page("", [], self.follow, PageMeta(hreflang=self.hreflang, section=self.section))

    def to_json(self) -> bytes:
        """Return it as JSON."""
        return _adapter().dump_json(dataclasses.replace(self, discovery=_light(self.discovery)))

    @classmethod
    def from_json(cls, data: bytes) -> Found:
        """Read what `to_json` wrote; bodies and files that it names are none of another worker's, and dropped."""
        found = _adapter().validate_json(data)
        return dataclasses.replace(found, discovery=_light(found.discovery))


@cache
def _adapter() -> TypeAdapter[Found]:
    return TypeAdapter(Found)


def _light(discovery: Discovery) -> Discovery:
    return dataclasses.replace(
        discovery,
        start=_without_body(discovery.start),
        files=[dataclasses.replace(file, text="", entries=()) for file in discovery.files],
        full_texts=[
            dataclasses.replace(
                text,
                answer=_without_body(text.answer),
                report=text.report and dataclasses.replace(text.report, marks=()),
            )
            for text in discovery.full_texts
        ],
        tried=[],
        cut=[],
    )


def _without_body(answer: Answer) -> Answer:
    return dataclasses.replace(answer, body=b"", spool=None)
