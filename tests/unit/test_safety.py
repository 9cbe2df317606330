from __future__ import annotations

import json

import pytest
from scrapy.settings import BaseSettings

from llmsspider.config.settings import Config
from llmsspider.errors import ArgumentsError
from llmsspider.web.addresses import AllowedAddresses
from llmsspider.web.credentials import Credentials

WRONG = [
    ("addresses", {"LLMS_ALLOW_PRIVATE_ADDRESSES": "a b"}, 1),
    ("two addresses", {"LLMS_ALLOW_PRIVATE_ADDRESSES": "a b, c d"}, 2),
    ("credentials", {"LLMS_HTTP_AUTH": "hunter2"}, 1),
    ("contact", {"LLMS_CONTACT": "a)b"}, 1),
    (
        "all of them",
        {"LLMS_ALLOW_PRIVATE_ADDRESSES": "a b", "LLMS_HTTP_AUTH": "hunter2", "LLMS_CONTACT": "a)b"},
        3,
    ),
    ("nothing set", {}, 0),
    (
        "all fine",
        {
            "LLMS_ALLOW_PRIVATE_ADDRESSES": "10.0.0.0/8",
            "LLMS_HTTP_AUTH": "{}",
            "LLMS_CONTACT": "a@b.example",
        },
        0,
    ),
]


@pytest.mark.parametrize(
    ("settings", "count"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG]
)
def test_one_line_for_each_mistake_and_no_secret(settings, count):
    problems = []
    try:
        Config.from_settings(BaseSettings(settings))
    except ArgumentsError as error:
        problems = error.problems
    assert len(problems) == count
    assert "hunter2" not in "".join(problems)


def test_the_environment_may_hold_the_credentials(monkeypatch):
    monkeypatch.setenv("LLMS_HTTP_AUTH", json.dumps({"a.example": "user:password"}))
    settings = BaseSettings()
    Config.from_settings(settings)
    assert Credentials.from_setting(settings.get("LLMS_HTTP_AUTH")).headers_for(
        "https://a.example/"
    )


def test_private_addresses_are_refused_by_default():
    assert AllowedAddresses.from_setting(False).refusal("http://127.0.0.1/")
