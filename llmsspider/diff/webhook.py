"""The webhook: what changed as JSON, signed, sent a few times at most, to public addresses only.

Signature and headers are those of Standard Webhooks 1.0 (https://www.standardwebhooks.com/).
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import socket
from collections.abc import Sequence
from contextlib import suppress

import aiohttp
import orjson
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from llmsspider.diff.render import MARKS, in_words
from llmsspider.diff.source import SourceChanges
from llmsspider.web.addresses import AllowedAddresses

logger = logging.getLogger(__name__)

TIMEOUT_SECS = 10.0
PAUSES_SECS = (1.0, 4.0)
"""Time one attempt may take; pauses before a second and a third one."""
MAX_PAGES = 1_000
"""Pages that a payload names."""
AGAIN = frozenset({408, 425, 429})  # statuses below 500 that are worth another attempt


class WebhookError(Exception):
    """The delivery failed; one line."""


def payload(changes: SourceChanges, url: str, run: str) -> bytes:
    """Return the body: counts, and each page with what happened to it in words."""
    named = changes.pages[:MAX_PAGES]
    return orjson.dumps(
        {
            "type": "documentation.changed",
            "source": changes.source,
            "url": url,
            "run": run,
            "since": changes.since,
            "until": changes.until,
            "counts": {kind: changes.count(kind) for kind in MARKS},
            "noise": changes.noise,
            "pages": [
                {"change": page.kind}
                | {
                    name: getattr(page, name)
                    for name in ("url", "title", "section", "moved_from", "seq")
                }
                | {"in_words": in_words(page)}
                for page in named
            ],
            "left_out": len(changes.pages) - len(named),
        }
    )


def signed_headers(body: bytes, message: str, at: int, secret: str | None) -> dict[str, str]:
    """Return the headers of a delivery at a time in seconds since the epoch; each attempt has the
    same id, `message`.

    Both sides know the secret, `whsec_` and base64 or any text; None signs nothing.
    """
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "llmsspider",
        "webhook-id": message,
        "webhook-timestamp": str(at),
    }
    if secret:
        key = secret.encode()
        if secret.startswith("whsec_"):
            with suppress(ValueError):  # it is no base64, and used as it is
                key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        digest = hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers


async def send(
    url: str,
    body: bytes,
    headers: dict[str, str],
    allowed: AllowedAddresses,
    *,
    pauses: Sequence[float] = PAUSES_SECS,
    timeout_secs: float = TIMEOUT_SECS,
) -> None:
    """Post the body, again after a pause where the other side was not there; redirects are not
    followed.

    Raises `WebhookError` when it was not taken, in the end.
    """
    if (refusal := allowed.refusal(url)) is not None:
        raise WebhookError(refusal)
    connector = aiohttp.TCPConnector(resolver=_GuardedResolver(allowed), limit=1, force_close=True)
    timeout = aiohttp.ClientTimeout(total=timeout_secs)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, trust_env=False
    ) as session:
        for pause in (*pauses, None):
            why, again = await _attempt(session, url, body, headers)
            if why is None:
                return
            if pause is None or not again:
                raise WebhookError(why)
            logger.info(
                "webhook: %(why)s; trying again in %(pause)s s", {"why": why, "pause": pause}
            )
            await asyncio.sleep(pause)


async def _attempt(
    session: aiohttp.ClientSession, url: str, body: bytes, headers: dict[str, str]
) -> tuple[str | None, bool]:
    """Return why the other side did not take it, None where it did, and whether another attempt may
    help.
    """
    try:
        async with session.post(url, data=body, headers=headers, allow_redirects=False) as answer:
            status = answer.status
    except TimeoutError:
        return "no answer in time", True
    except (aiohttp.ClientError, OSError) as error:
        for refused in (error, error.__cause__, getattr(error, "os_error", None)):
            if isinstance(refused, _RefusedError):
                return str(refused), False
        return f"{type(error).__name__}: {error}", True
    if 200 <= status < 300:
        return None, False
    if 300 <= status < 400:
        return (
            f"it answered with a redirect (status {status}): name the address that it leads to",
            False,
        )
    return f"it answered with status {status}", status >= 500 or status in AGAIN


class _RefusedError(OSError):
    """The name leads to addresses that may not be reached."""


class _GuardedResolver(AbstractResolver):
    """Resolves to addresses that are allowed."""

    def __init__(self, allowed: AllowedAddresses):
        self._allowed = allowed
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Look a name up; raises `_RefusedError` where it has no address that is allowed."""
        found = await self._resolver.resolve(host, port, family)
        permitted = [one for one in found if self._allowed.permits(one["host"], host, port)]
        if found and not permitted:
            private = f"{host} leads to {found[0]['host']}, which is not a public address"
            raise _RefusedError(f"{private} (LLMS_ALLOW_PRIVATE_ADDRESSES lists the exceptions)")
        return permitted

    async def close(self) -> None:
        """Release nothing."""
        await self._resolver.close()
