from __future__ import annotations

import json
import logging

import pytest

from llmsspider.downloadermiddlewares.host_auth import REDACTED, SecretsFilter
from llmsspider.errors import ArgumentsError
from llmsspider.web.credentials import Credentials

TABLE = {
    "docs.example.com": {"Authorization": "Bearer s3cr3t-token", "Cookie": "sid=c00kie-value"},
    "private.example.com:8443": "user:pa55word",
    "http://intranet.example:8000": {"X-Token": "tok3n-plain"},
}

HOSTS = [
    ("listed host", "https://docs.example.com/a", {"Authorization", "Cookie"}),
    ("capitals, default port", "https://DOCS.example.com:443/a", {"Authorization", "Cookie"}),
    ("trailing dot", "https://docs.example.com./a", {"Authorization", "Cookie"}),
    ("plain http", "http://docs.example.com/a", set()),
    ("plain http on the https port", "http://docs.example.com:443/a", set()),
    ("another port", "https://docs.example.com:444/a", set()),
    ("a host below", "https://a.docs.example.com/", set()),
    ("the host above", "https://example.com/", set()),
    ("a host that ends alike", "https://evildocs.example.com/", set()),
    ("user information that looks like it", "https://docs.example.com@evil.example/", set()),
    ("port named", "https://private.example.com:8443/", {"Authorization"}),
    ("port named, default asked", "https://private.example.com/", set()),
    ("http named", "http://intranet.example:8000/", {"X-Token"}),
    ("http named, https asked", "https://intranet.example:8000/", set()),
    ("not a URL", "docs.example.com", set()),
    ("broken URL", "https://[docs.example.com/", set()),
]


@pytest.mark.parametrize(
    ("url", "names"), [case[1:] for case in HOSTS], ids=[case[0] for case in HOSTS]
)
@pytest.mark.parametrize("as_json", [False, True], ids=["dict", "JSON"])
def test_headers_go_to_their_origin_only(url, names, as_json):
    credentials = Credentials.from_setting(json.dumps(TABLE) if as_json else TABLE)
    assert set(credentials.headers_for(url)) == names


def test_user_and_password_become_basic_authentication():
    headers = Credentials.from_setting({"a.example": "Aladdin:open sesame"}).headers_for(
        "https://a.example/"
    )
    assert headers == {
        "Authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    }  # the example of RFC 7617


@pytest.mark.parametrize("value", [None, "", {}])
def test_nothing(value):
    assert not Credentials.from_setting(value)


SECRET = "hunter2-secret"
WRONG = [
    ("not JSON", f"docs.example.com={SECRET}"),
    ("a JSON list", json.dumps([SECRET])),
    ("a list", [SECRET]),
    ("no colon", {"docs.example.com": SECRET}),
    ("a number", {"docs.example.com": 5}),
    ("header with line break", {"docs.example.com": {"X-Token": f"{SECRET}\r\nX-Evil: 1"}}),
    ("header name with a space", {"docs.example.com": {f"X {SECRET}": "a"}}),
    ("header value not text", {"docs.example.com": {"X-Token": [SECRET]}}),
    ("path in the key", {"docs.example.com/private": f"user:{SECRET}"}),
    ("secret in the key", {f"https://user:{SECRET}@docs.example.com": "user:password"}),
    ("other scheme", {"ftp://docs.example.com": f"user:{SECRET}"}),
]


@pytest.mark.parametrize("value", [case[1] for case in WRONG], ids=[case[0] for case in WRONG])
def test_a_wrong_setting_is_refused_without_showing_it(value):
    with pytest.raises(ArgumentsError) as raised:
        Credentials.from_setting(value)
    assert str(raised.value).startswith("LLMS_HTTP_AUTH")
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None


def test_printing_shows_nothing():
    assert "s3cr3t" not in repr(Credentials.from_setting(TABLE))


@pytest.mark.parametrize(
    "secret",
    [
        "s3cr3t-token",
        "Bearer s3cr3t-token",
        "c00kie-value",
        "sid=c00kie-value",
        "pa55word",
        "tok3n-plain",
    ],
)
def test_logs_are_redacted(secret, caplog):
    caplog.handler.addFilter(SecretsFilter(Credentials.from_setting(TABLE)))
    logger = logging.getLogger("test")
    logger.warning("Got %s from %s", f"<{secret}>", "server")
    try:
        raise RuntimeError(f"bad answer {secret}")
    except RuntimeError:
        logger.exception("It broke")
    assert secret not in caplog.text
    assert REDACTED in caplog.text
    assert "RuntimeError" in caplog.text


def test_other_records_pass_unchanged(caplog):
    caplog.handler.addFilter(SecretsFilter(Credentials.from_setting(TABLE)))
    logging.getLogger("test").warning("Fetched %(url)s", {"url": "https://docs.example.com/"})
    assert caplog.messages == ["Fetched https://docs.example.com/"]


def test_tokens_of_the_environment_are_for_their_hosts_and_give_way_to_entries():
    found = Credentials.from_setting({"gitlab.com": "user:pa55word"}).with_tokens(
        {"GH_TOKEN": "gh-secret-token", "GITLAB_TOKEN": "gl-secret-token", "GITHUB_TOKEN": ""}
    )
    bearer = {"Authorization": "Bearer gh-secret-token"}
    assert found.headers_for("https://api.github.com/repos/o/r") == bearer
    assert found.headers_for("https://raw.githubusercontent.com/o/r/main/a.md") == bearer
    assert (
        found.headers_for("https://github.com/o/r")
        == found.headers_for("http://api.github.com/")
        == {}
    )
    assert list(found.headers_for("https://gitlab.com/api/v4/projects/a")) == ["Authorization"]
    assert "gh-secret-token" in found.secrets()
    assert Credentials().with_tokens({"GITHUB_TOKEN": "a\nb"}) == Credentials()


@pytest.mark.parametrize(
    ("domain", "below", "sent"),
    [
        ("e.test", "FALSE", {"e.test"}),
        ("e.test", "TRUE", {"e.test", "a.e.test"}),
        (".e.test", "FALSE", {"e.test", "a.e.test"}),
        ("wiki", "FALSE", {"wiki"}),
        ("127.0.0.1", "FALSE", {"127.0.0.1"}),
    ],
)
def test_cookies_go_where_the_browser_sends_them(tmp_path, domain, below, sent):
    file = tmp_path / "cookies.txt"
    file.write_text(f"{domain}\t{below}\t/\tFALSE\t\tsession\tsecret\n")
    given = Credentials.from_settings({"LLMS_COOKIES_FILE": str(file)})
    hosts = ["e.test", "a.e.test", "other.test", "wiki", "127.0.0.1"]
    assert {host for host in hosts if given.headers_for(f"http://{host}/")} == sent
