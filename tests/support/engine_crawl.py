"""A crawl of given URLs by a spider made for the test, in a process of its own: the engine and these middlewares."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forked import ROOT, fork

MIDDLEWARES = "llmsspider.downloadermiddlewares"
SETTINGS: dict[str, Any] = {
    "DOWNLOADER": "llmsspider.downloadermiddlewares.downloader.Downloader",
    "TWISTED_DNS_RESOLVER": "llmsspider.downloadermiddlewares.resolver.AddressGuardResolver",
    "DOWNLOAD_HANDLERS": {"file": None, "data": None, "ftp": None, "s3": None},
    "DOWNLOAD_VERIFY_CERTIFICATES": True,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "USER_AGENT": "llmsspider/test",
    "RETRY_TIMES": 2,
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None,
        f"{MIDDLEWARES}.address_guard.AddressGuardMiddleware": 20,
        f"{MIDDLEWARES}.robots.RobotsTxtMiddleware": 100,
        f"{MIDDLEWARES}.user_agent.UserAgentMiddleware": 500,
        f"{MIDDLEWARES}.ai_optout.AiOptOutMiddleware": 520,
        f"{MIDDLEWARES}.backoff.BackoffMiddleware": 560,
        f"{MIDDLEWARES}.host_auth.HostAuthMiddleware": 710,
        f"{MIDDLEWARES}.connection_guard.ConnectionGuardMiddleware": 950,
    },
}


def _run(
    requests: list[Any], settings: dict[str, Any], names: dict[str, list[list[str]]], result: str
) -> None:
    """Crawl in this process; what happened goes to the file `result`."""
    from scrapy.utils.reactor import install_reactor

    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.spidermiddlewares.httperror import HttpError
    from twisted.internet import reactor
    from twisted.internet._resolver import HostResolution
    from twisted.internet.address import IPv4Address, IPv6Address
    from twisted.internet.interfaces import IHostnameResolver
    from zope.interface import implementer

    from llmsspider.config.settings import from_environment
    from llmsspider.crawler.requests import kind_of_exception
    from llmsspider.web.outcomes import kind_of_response

    lookups, events, delays, fallback = [], [], {}, reactor.nameResolver

    @implementer(IHostnameResolver)
    class Names:
        """Answers for the names of the test, each with its next answer; other hosts are literals and go on."""

        def resolveHostName(
            self, receiver, hostName, portNumber=0, addressTypes=None, transportSemantics="TCP"
        ):
            lookups.append(hostName)
            if hostName not in names:
                return fallback.resolveHostName(
                    receiver, hostName, portNumber, addressTypes, transportSemantics
                )
            answers = names[hostName]
            resolution = HostResolution(hostName)
            receiver.resolutionBegan(resolution)
            for ip in answers.pop(0) if len(answers) > 1 else answers[0]:
                receiver.addressResolved(
                    (IPv6Address if ":" in ip else IPv4Address)("TCP", ip, portNumber)
                )
            receiver.resolutionComplete()
            return resolution

    reactor.installNameResolver(Names())

    class Throwaway(scrapy.Spider):
        name = "throwaway"

        async def start(self):
            for request in requests:
                options = {"url": request} if isinstance(request, str) else request
                options["meta"] = {**options.get("meta", {}), "asked": options["url"]}
                try:
                    yield scrapy.Request(
                        **options, callback=self.answered, errback=self.failed, dont_filter=True
                    )
                except ValueError as error:
                    kind = kind_of_exception(error)
                    events.append(
                        {"url": options["url"], "error": type(error).__name__, "kind": kind}
                    )

        def closed(self, reason):
            slots = self.crawler.engine.downloader.per_slot_settings
            delays.update(
                {host: float(slot["delay"]) for host, slot in slots.items() if "delay" in slot}
            )

        def answered(self, response):
            events.append(
                {
                    "url": response.meta["asked"],
                    "status": response.status,
                    "final": response.url,
                    "body": response.text if hasattr(response, "text") else "",
                    "headers": dict(response.request.headers.to_unicode_dict()),
                }
            )

        def failed(self, failure):
            response = getattr(failure.value, "response", None)
            kind = kind_of_exception(failure.value)
            if isinstance(failure.value, HttpError):
                kind = kind_of_response(response.status, {})
            events.append(
                {
                    "url": failure.request.meta["asked"],
                    "final": failure.request.url,
                    "error": type(failure.value).__name__,
                    "message": str(failure.value),
                    "kind": kind,
                    "reason": getattr(failure.value, "reason", None),
                    "status": response.status if response is not None else None,
                }
            )

    process = CrawlerProcess({**from_environment(), **settings})  # as llmsspider/settings.py does
    crawler = process.create_crawler(Throwaway)
    process.crawl(crawler)
    process.start()
    stats = {
        key: value
        for key, value in crawler.stats.get_stats().items()
        if isinstance(value, (int, float, str))
    }
    Path(result).write_text(
        json.dumps({"events": events, "stats": stats, "lookups": lookups, "delays": delays})
    )


@dataclass
class EngineOutcome:
    """What the crawl did: one event for each URL, the names looked up, stats, log, last delays by host in seconds."""

    events: list[dict[str, Any]]
    lookups: list[str]
    stats: dict[str, Any]
    log: str
    delays: dict[str, float]

    def of(self, url: str) -> dict[str, Any]:
        """The event of a start URL."""
        (event,) = [event for event in self.events if event["url"] == url]
        return event


def engine_crawl(
    folder: Path,
    requests: list[str | dict[str, Any]],
    *,
    settings: dict[str, Any] | None = None,
    names: dict[str, list[list[str]]] | None = None,
    environment: dict[str, str] | None = None,
) -> EngineOutcome:
    """Request the URLs (or keyword arguments of `scrapy.Request`); `names` is what the test's DNS answers."""
    result, log = folder / "result.json", folder / "log.txt"
    inherited = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    result.unlink(missing_ok=True)
    process = fork(
        _run,
        requests,
        {**SETTINGS, **(settings or {})},
        names or {},
        str(result),
        cwd=folder,
        stdout=folder / "stdout.txt",
        stderr=log,
        env={**inherited, "PYTHONPATH": str(ROOT), **(environment or {})},
    )
    process.wait()
    assert result.exists(), process.log
    left = json.loads(result.read_text())
    return EngineOutcome(
        left["events"], left["lookups"], left["stats"], process.log, left["delays"]
    )
