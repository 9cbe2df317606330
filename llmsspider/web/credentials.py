"""Who asks: the name of the crawl, headers of `LLMS_HTTP_AUTH` for their hosts alone, and signed
requests.

Signatures are HTTP Message Signatures (RFC 9421) as Web Bot Auth has them:
`draft-meunier-web-bot-auth-architecture` says what is covered,
`draft-meunier-http-message-signatures-directory` how a site gets the public key. The library
`http-message-signatures` (extra `sign`) makes them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.cookiejar import CookieJar
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import urlsplit

from llmsspider.errors import ArgumentsError
from llmsspider.web.addresses import DEFAULT_PORTS
from llmsspider.web.cookie_file import cookies_for, read_cookies
from llmsspider.web.loading import missing_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def product_token(user_agent: str) -> str:
    """Return the name a robots.txt group may address (RFC 9309, section 2.2.1), not version or
    contact.

    >>> product_token("llmsspider/1.0 (+https://example.com/bot)")
    'llmsspider'
    """
    match = re.match(r"[A-Za-z_-]+", user_agent.strip())
    return match.group() if match else user_agent


def check_contact(contact: str) -> None:
    """Raise `ArgumentsError` for a contact that cannot be part of a header."""
    if not re.fullmatch(r"[\x21-\x27\x2a-\x7e][\x20-\x27\x2a-\x7e]*", contact):
        raise ArgumentsError([f"LLMS_CONTACT={contact!r}: expected an e-mail address or URL"])


def with_contact(user_agent: str, contact: str | None) -> str:
    """Add the contact of the operator, an address or URL, to a user agent.

    >>> with_contact("llmsspider/1.0", "docs@example.com")
    'llmsspider/1.0 (+docs@example.com)'
    """
    return f"{user_agent} (+{contact})" if contact else user_agent


# Headers for the hosts that they are for.

Origin = tuple[str, str, int]
"""Scheme, host in lower case, port."""

TOKENS: Mapping[str, tuple[str, str, str]] = {
    "api.github.com": ("GITHUB_TOKEN GH_TOKEN", "Authorization", "Bearer "),
    "raw.githubusercontent.com": ("GITHUB_TOKEN GH_TOKEN", "Authorization", "Bearer "),
    "gitlab.com": ("GITLAB_TOKEN", "PRIVATE-TOKEN", ""),
}
"""Environment variables with the token of a host, in the order they are looked at; its header, and
what precedes it.
"""

EXPECTED = (
    'expected {"docs.example.com": {"Authorization": "Bearer …"}} or {"docs.example.com":'
    ' "user:password"}'
)

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]+\Z")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Headers to send, by origin, and cookies by their own rules. Printing one shows no header."""

    by_origin: Mapping[Origin, Mapping[str, str]] = field(default_factory=dict, repr=False)
    jar: CookieJar | None = field(default=None, repr=False)

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> Self:
        """Read `LLMS_HTTP_AUTH` and `LLMS_COOKIES_FILE`; raises `ArgumentsError`."""
        path = settings.get("LLMS_COOKIES_FILE")
        given = cls.from_setting(settings.get("LLMS_HTTP_AUTH"))
        return replace(given, jar=read_cookies(str(path))) if path else given

    @classmethod
    def from_setting(cls, value: object) -> Self:
        """Read `LLMS_HTTP_AUTH`: a dict, or the same as JSON text; empty for None and "".

        Keys are `host`, `host:port`, or an origin such as `http://host:port`; without a scheme the
        secret is sent over https only. Raises `ArgumentsError` with a line for each entry that
        cannot be used; no line shows a secret.
        """
        if not value:
            return cls()
        try:
            table = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            raise ArgumentsError([f"LLMS_HTTP_AUTH: not JSON; {EXPECTED}"]) from None
        if not isinstance(table, Mapping):
            raise ArgumentsError([f"LLMS_HTTP_AUTH: {EXPECTED}"])
        by_origin: dict[Origin, Mapping[str, str]] = {}
        problems: list[str] = []
        for key, entry in table.items():
            try:
                by_origin[_named_origin(key)] = _headers(entry)
            except ValueError as error:
                shown = str(key).rpartition("@")[2]  # what stands before an @ may be a password
                problems.append(f"LLMS_HTTP_AUTH for {shown}: {error}; {EXPECTED}")
        if problems:
            raise ArgumentsError(problems)
        return cls(by_origin)

    def with_tokens(self, environment: Mapping[str, str]) -> Credentials:
        """Return them with the tokens of `TOKENS`, for the hosts that have no entry.

        >>> sorted(Credentials().with_tokens({"GITLAB_TOKEN": "x" * 20}).headers_for("https://gitlab.com/api/v4/"))
        ['PRIVATE-TOKEN']
        """
        found = dict(self.by_origin)
        for name, (variables, header, scheme) in TOKENS.items():
            token = next(
                (environment[one] for one in variables.split() if environment.get(one)), ""
            ).strip()
            if token and _HEADER_VALUE.match(token):
                found.setdefault(("https", name, 443), {header: scheme + token})
        return replace(self, by_origin=found)

    def headers_for(self, url: str) -> Mapping[str, str]:
        """Return the headers to send with a request for `url`, empty for a host that is not listed."""
        origin = origin_of(url)
        found = self.by_origin.get(origin, {}) if origin else {}
        cookies = cookies_for(self.jar, url) if self.jar is not None and origin else ""
        if not cookies:
            return found
        given = next((value for name, value in found.items() if name.lower() == "cookie"), "")
        return {**found, "Cookie": "; ".join(filter(None, (given, cookies)))}

    def secrets(self) -> frozenset[str]:
        """Return every text that must not be shown: header values and the parts that stand on their
        own.
        """
        found: set[str] = {cookie.value or "" for cookie in self.jar or ()}
        for value in (value for headers in self.by_origin.values() for value in headers.values()):
            found.update({value, *re.split(r"[;\s]\s*", value)})
            found.update(part.partition("=")[2] for part in value.split(";"))
            scheme, _, encoded = value.partition(" ")
            with suppress(ValueError):
                secret = encoded if scheme.lower() == "basic" else ""
                decoded = base64.b64decode(secret, validate=True).decode()
                found.update({decoded, decoded.partition(":")[2]})
        return frozenset(text for text in found if len(text) >= 6)

    def __bool__(self) -> bool:
        return bool(self.by_origin) or self.jar is not None


def origin_of(url: str) -> Origin | None:
    """Return scheme, host and port of an http(s) URL, None for anything else.

    >>> origin_of("https://Docs.example.com/a")
    ('https', 'docs.example.com', 443)
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname.removesuffix("."), port or DEFAULT_PORTS[parts.scheme]


def _named_origin(key: object) -> Origin:
    """Return the origin that a key of `LLMS_HTTP_AUTH` names; raises `ValueError`."""
    parts = urlsplit(str(key) if "://" in str(key) else f"https://{key}")
    origin = origin_of(parts.geturl())
    besides = "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment
    if not origin or besides:
        raise ValueError("the key is not a host")
    return origin


def _headers(entry: object) -> Mapping[str, str]:
    if isinstance(entry, str):
        if ":" not in entry:
            raise ValueError("the value is not user:password")
        return {"Authorization": "Basic " + base64.b64encode(entry.encode()).decode("ascii")}
    if not isinstance(entry, Mapping) or not entry:
        raise ValueError("the value is neither headers nor user:password")
    for name, value in entry.items():
        if not isinstance(name, str) or not _HEADER_NAME.match(name):
            raise ValueError("a header name has characters that headers cannot have")
        if not isinstance(value, str) or not _HEADER_VALUE.match(value):
            raise ValueError(f"the value of header {name} is not one line of text")
    return {str(name): str(value) for name, value in entry.items()}


# Signed requests.

TAG = "web-bot-auth"
DIRECTORY_TAG = "http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
LABEL = "sig1"
LIFETIME = timedelta(minutes=5)
"""How long a signature is valid: each request gets one of its own when it is sent."""

AUTHORITY = '"@authority"'
AGENT = f'"signature-agent";key="{LABEL}"'
ANSWERABLE = frozenset(
    {"@authority", "@method", "@path", "@query", "@scheme", "@target-uri", "@request-target"}
)
"""Components that a site may ask for; headers of a request are not, since those that leave are not
known here.
"""


def read_key(path: str) -> Ed25519PrivateKey:
    """Return the Ed25519 key of a file, as JWK or PEM."""
    if lack := missing_extra("sign"):
        raise ArgumentsError([f"setting LLMS_SIGN_KEY: {lack}"])
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        content = Path(path).read_bytes()
        if content.lstrip().startswith(b"{"):
            return Ed25519PrivateKey.from_private_bytes(_decoded(json.loads(content)["d"]))
        found = load_pem_private_key(content, None)
    except OSError as error:
        raise ArgumentsError(
            [f"setting LLMS_SIGN_KEY: {path}: {error.strerror or error}"]
        ) from None
    except (ValueError, TypeError, KeyError):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        expected = (
            "an Ed25519 private key, as JWK or PEM without a password, is accepted (`sign keygen`"
            " makes one)"
        )
        raise ArgumentsError([f"setting LLMS_SIGN_KEY: {path}: {expected}"])
    return found


def new_key() -> tuple[Ed25519PrivateKey, dict[str, str]]:
    """Return a new key, and its private JWK; raises `ArgumentsError` without the extra `sign`."""
    if lack := missing_extra("sign"):
        raise ArgumentsError([lack])
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    key = Ed25519PrivateKey.generate()
    return key, {**public_jwk(key), "kid": thumbprint(key), "d": _encoded(key.private_bytes_raw())}


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def public_jwk(key: Ed25519PrivateKey) -> dict[str, str]:
    """Return the public half of a key as JWK (RFC 8037), its members in the order of RFC 7638."""
    return {"crv": "Ed25519", "kty": "OKP", "x": _encoded(key.public_key().public_bytes_raw())}


def thumbprint(key: Ed25519PrivateKey) -> str:
    """Return the `keyid` of a key: the SHA-256 of its public JWK (RFC 7638), base64url."""
    return _encoded(
        hashlib.sha256(json.dumps(public_jwk(key), separators=(",", ":")).encode()).digest()
    )


class Signer:
    """Signs requests with one key; `agent` is the URL of the key directory (`Signature-Agent`),
    None sends none.
    """

    def __init__(self, key: Ed25519PrivateKey, agent: str | None = None):
        self.key = key
        self._key_id = thumbprint(key)
        self._agent = agent
        self._asked: dict[str, tuple[str, ...]] = {}  # components that hosts asked for, beside ours

    @classmethod
    def from_settings(cls, settings: Mapping[Any, Any]) -> Signer | None:
        """Read `LLMS_SIGN_KEY` and `LLMS_SIGN_AGENT`; None without a key.

        Raises `ArgumentsError`.
        """
        path = settings.get("LLMS_SIGN_KEY")
        return cls(read_key(path), settings.get("LLMS_SIGN_AGENT") or None) if path else None

    def headers(self, method: str, url: str) -> dict[str, str]:
        """Return the headers of one request, valid for `LIFETIME` from now; the next request gets
        others.
        """
        parts = urlsplit(url)
        asked = self._asked.get(parts.netloc, ())
        signed = url if asked else f"{parts.scheme}://{parts.netloc}/"
        headers = {"Signature-Agent": f'{LABEL}="{self._agent}"'} if self._agent is not None else {}
        agent = (AGENT,) if headers else ()
        message = SimpleNamespace(method=method, url=signed, headers=headers)
        self._sign(message, (AUTHORITY, *agent, *asked), TAG, LIFETIME)
        return headers

    def is_asked_for_more(self, url: str, accept_signature: str) -> bool:
        """Note what a host asks for in `Accept-Signature` (RFC 9421, section 5); say whether that
        is new.
        """
        import http_sf  # noqa: PLC0415

        host = urlsplit(url).netloc
        with suppress(ValueError, TypeError):
            found: Any = http_sf.parse(accept_signature.encode(), tltype="dictionary")
            for asked, parameters in found.values():
                names = {name for name, _ in asked} - {"@authority", "signature-agent"}
                missing = names - {name.strip('"') for name in self._asked.get(host, ())}
                if missing and names <= ANSWERABLE and parameters.get("tag", TAG) == TAG:
                    self._asked[host] = tuple(f'"{name}"' for name in sorted(names))
                    return True
        return False

    def directory(self, url: str, lifetime: timedelta) -> tuple[dict[str, object], dict[str, str]]:
        """Return the key directory that is served at `url`, and the headers that prove that it has
        the key.
        """
        proof: dict[str, str] = {}
        request = SimpleNamespace(method="GET", url=url, headers={})
        answer = SimpleNamespace(request=request, status_code=200, headers=proof)
        self._sign(answer, ('"@authority";req',), DIRECTORY_TAG, lifetime)
        keys: dict[str, object] = {"keys": [public_jwk(self.key) | {"kid": self._key_id}]}
        return keys, {"Content-Type": DIRECTORY_TYPE, **proof}

    def _sign(
        self, message: object, components: Sequence[str], tag: str, lifetime: timedelta
    ) -> None:
        from http_message_signatures import HTTPMessageSigner, algorithms  # noqa: PLC0415

        now = datetime.now(UTC)
        HTTPMessageSigner(
            signature_algorithm=algorithms.ED25519, key_resolver=cast("Any", self)
        ).sign(
            message,
            key_id=self._key_id,
            created=now,
            expires=now + lifetime,
            nonce=base64.b64encode(secrets.token_bytes(64)).decode(),
            label=LABEL,
            tag=tag,
            covered_component_ids=components,
        )

    def resolve_private_key(self, key_id: str) -> Ed25519PrivateKey:
        """Return the key, as `http-message-signatures` asks for it."""
        return self.key
