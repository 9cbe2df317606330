"""The queue that workers share: scrapy-redis's, with requests as JSON and a way to take them that nobody can miss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from scrapy_redis.queue import PriorityQueue

if TYPE_CHECKING:
    from scrapy import Request, Spider

    from llmsspider.together.crew import Crew

LEFT_OUT = ("cookies", "encoding", "flags", "_class")
"""Parts of a request that ours leave at their defaults."""


class JsonRequests:
    """Requests as JSON: scrapy-redis pickles them, and whoever can write to Redis could run code in every worker."""

    @staticmethod
    def dumps(request: dict[str, Any]) -> bytes:
        """Return the JSON of `Request.to_dict()`; raises `TypeError` where `meta` holds other than plain values."""
        plain = {name: value for name, value in request.items() if name not in LEFT_OUT}
        plain["body"] = request["body"].decode("latin-1")
        plain["headers"] = {
            name.decode("latin-1"): [value.decode("latin-1") for value in values]
            for name, values in request["headers"].items()
        }
        return orjson.dumps(plain)

    @staticmethod
    def loads(data: bytes) -> dict[str, Any]:
        """Return what `request_from_dict` takes."""
        request: dict[str, Any] = orjson.loads(data)
        request["body"] = request["body"].encode("latin-1")
        return request


class SharedQueue(PriorityQueue):  # type: ignore[misc]  # it is not typed
    """Requests of all workers, those of lower depth first."""

    def __init__(self, crew: Crew, spider: Spider):
        super().__init__(None, spider, crew.keys["queue"], JsonRequests)
        self._crew = crew

    def __len__(self) -> int:
        return self._crew.queued()

    def push(self, request: Request) -> None:
        """Queue a request; raises `TypeError` for one that cannot be written as JSON."""
        self._crew.push(-request.priority, self._encode_request(request))

    def pop(self, *, busy: bool, exact: bool) -> Request | None:
        """Take a request; see `Crew.take`."""
        data = self._crew.take(busy=busy, exact=exact)
        return None if data is None else self._decode_request(data)
