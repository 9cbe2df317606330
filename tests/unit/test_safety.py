from __future__ import annotations

import json

import pytest

from llmsspider.safety import allowed_addresses, http_auth, problems_of

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
        {"LLMS_ALLOW_PRIVATE_ADDRESSES": "10.0.0.0/8", "LLMS_HTTP_AUTH": "{}", "LLMS_CONTACT": "a@b.example"},
        0,
    ),
]


@pytest.mark.parametrize(("settings", "count"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_one_line_for_each_mistake_and_no_secret(settings, count, monkeypatch):
    monkeypatch.delenv("LLMS_HTTP_AUTH", raising=False)
    problems = problems_of(settings)
    assert len(problems) == count
    assert "hunter2" not in "".join(problems)


def test_the_environment_holds_the_credentials_where_the_settings_do_not(monkeypatch):
    monkeypatch.setenv("LLMS_HTTP_AUTH", json.dumps({"a.example": "user:password"}))
    assert http_auth({}).headers_for("https://a.example/")
    assert not http_auth({"LLMS_HTTP_AUTH": {"b.example": "u:p"}}).headers_for("https://a.example/")


def test_private_addresses_are_refused_by_default():
    assert allowed_addresses({}).refusal("http://127.0.0.1/")
