"""A verifier of signed requests, written from RFC 9421 alone: only structured fields are parsed by a library."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import http_sf
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from site_server import Reply, Site

TAG = "web-bot-auth"


def keys_of(directory: dict[str, list[dict[str, str]]]) -> dict[str, Ed25519PublicKey]:
    """The keys of a directory, by their RFC 7638 thumbprint."""
    found = {}
    for jwk in directory["keys"]:
        members = ",".join(
            f"{json.dumps(name)}:{json.dumps(jwk[name])}" for name in ("crv", "kty", "x")
        )
        name = (
            base64.urlsafe_b64encode(hashlib.sha256(f"{{{members}}}".encode()).digest())
            .decode()
            .rstrip("=")
        )
        raw = base64.urlsafe_b64decode(jwk["x"] + "=" * (-len(jwk["x"]) % 4))
        found[name] = Ed25519PublicKey.from_public_bytes(raw)
    return found


@dataclass
class Verifier:
    """What a site that accepts signed requests does with each of them (RFC 9421, section 3.2)."""

    directory: dict[str, list[dict[str, str]]]
    agent: str | None = None
    nonces: set[str] = field(default_factory=set)

    def problem(
        self, method: str, url: str, headers: Mapping[str, str], now: float | None = None
    ) -> str | None:
        """What is wrong with a request, None where it is accepted. Names of headers are lower case."""
        if not {"signature", "signature-input"} <= set(headers):
            return "it is not signed"
        inputs = http_sf.parse(headers["signature-input"].encode(), tltype="dictionary")
        signatures = http_sf.parse(headers["signature"].encode(), tltype="dictionary")
        (label,) = [
            name for name, (_, parameters) in inputs.items() if parameters.get("tag") == TAG
        ]
        components, parameters = inputs[label]
        at = time.time() if now is None else now
        key = keys_of(self.directory).get(parameters["keyid"])
        if key is None:
            return "the directory has no such key"
        if not parameters["created"] - 5 <= at < parameters["expires"]:
            return "it is not valid now"
        if parameters["nonce"] in self.nonces:
            return "its nonce was used"
        names = [(name, dict(own)) for name, own in components]
        if ("@authority", {}) not in names:
            return "the authority is not covered"
        if self.agent is not None:
            if ("signature-agent", {"key": label}) not in names:
                return "the agent is not covered"
            if (
                http_sf.parse(headers["signature-agent"].encode(), tltype="dictionary")[label][0]
                != self.agent
            ):
                return "it is somebody else's agent"
        lines = [f"{_identifier(*name)}: {_value(*name, method, url, headers)}" for name in names]
        raw = headers["signature-input"].partition(f"{label}=")[2]
        base = "\n".join([*lines, f'"@signature-params": {raw}'])
        try:
            key.verify(signatures[label][0], base.encode())
        except InvalidSignature:
            return "the signature is wrong"
        self.nonces.add(parameters["nonce"])
        return None


def _identifier(name: str, parameters: dict[str, str]) -> str:
    return f'"{name}"' + "".join(f';{key}="{value}"' for key, value in parameters.items())


def _value(
    name: str, parameters: dict[str, str], method: str, url: str, headers: Mapping[str, str]
) -> str:
    parts = urlsplit(url)
    if not name.startswith("@"):
        member = http_sf.parse(headers[name].encode(), tltype="dictionary")[parameters["key"]]
        return http_sf.ser(member)
    default = {"http": ":80", "https": ":443"}[parts.scheme]
    return {
        "@authority": parts.netloc.lower().removesuffix(default),
        "@method": method,
        "@path": parts.path or "/",
        "@query": f"?{parts.query}",
        "@scheme": parts.scheme,
        "@target-uri": url,
        "@request-target": (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    }[name]


def guard(site: Site, verifier: Verifier) -> list[str]:
    """Have each page refuse what its verifier refuses; returns the list of refusals."""
    problems: list[str] = []

    def guarded(page):
        def answer(seen):
            problem = verifier.problem(
                seen.method, f"http://{seen.headers['host']}{seen.path}", seen.headers
            )
            if problem is not None:
                problems.append(f"{seen.path}: {problem}")
                return Reply(problem, 401)
            found = page(seen) if callable(page) else page
            return found if isinstance(found, Reply) else Reply(found)

        return answer

    site.pages = {path: guarded(page) for path, page in site.pages.items()}
    site.missing = guarded(site.missing)
    return problems
