"""The web page as an application: its addresses, and the forms that start, stop and delete."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from llmsspider.answers.library import Library
from llmsspider.answers.ranking import section_of
from llmsspider.diff.atom import updated_feed
from llmsspider.diff.compare import Hunk
from llmsspider.errors import LlmsspiderError, SearchError
from llmsspider.store import PageRecord
from llmsspider.ui import views
from llmsspider.ui.rendering import address, asset, marked, render

T = TypeVar("T")

REFRESH_SECS = 2
IDLE_SECS = 15
"""Time after which a view is loaded again while a crawl goes, and where none does."""


class Crawls(Protocol):
    """What starts and stops crawls: each answers with values and a sentence, or `SearchError`."""

    def add_source(self, url: str, name: str | None = None, max_pages: int | None = None) -> Any:
        """Crawl a new source in the background."""

    def recrawl_source(self, source: str) -> Any:
        """Crawl a source again in the background."""

    def cancel(self, source: str) -> Any:
        """Stop the crawl of a source."""

    def crawl_status(self, source: str) -> Any:
        """Return how far the crawl of a source is, or how it ended."""

    async def plan(self, url: str) -> dict[str, Any]:
        """Return the plan of a crawl (docs/reference/plan.schema.json)."""

    async def page(self, url: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return a page as a document, fetched with the arguments given; nothing is stored."""


@dataclass
class Pages:
    """The views of one library, which is read in a thread of its own; `crawls` is None where
    nothing may be started.
    """

    open_library: Callable[[], Library]
    chunk_size: int
    form_key: str
    crawls: Crawls | None = None

    def __post_init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="library")
        self._library: Library | None = None

    def application(self) -> Starlette:
        """Return the ASGI application."""
        views_of = {
            "/": self.sources,
            "/source": self.source,
            "/search": self.search,
            "/page": self.page,
            "/night": self.night,
            "/add": self.add,
            "/bounds": self.bounds,
            "/feed": self.feed,
        }
        forms_of = {
            "/plan": self.plan,
            "/bounds": self.try_bounds,
            "/save": self.save_bounds,
            "/add": self.add_now,
            "/recrawl": self.recrawl,
            "/stop": self.stop,
            "/delete": self.delete,
        }
        routes = [Route(path, view, methods=["GET"]) for path, view in views_of.items()]
        routes += [Route(path, form, methods=["POST"]) for path, form in forms_of.items()]
        routes.append(Route("/assets/{name}", self.asset, methods=["GET"]))
        return Starlette(
            routes=routes,
            exception_handlers={404: self._missing, LlmsspiderError: self._refused},
        )

    def close(self) -> None:
        """Close the library."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _close(self) -> None:
        if self._library is not None:
            self._library.close()

    # --- what is shown ---

    async def sources(self, request: Request) -> Response:
        """All sources, with their last nights."""
        found = await self._read(views.sources)
        is_going = any(one.is_going for one in found)
        added = _query(request, "added")
        begun = None
        if self.crawls is not None and added and added not in {one.record.name for one in found}:
            begun, _ = await self._do(self.crawls.crawl_status, added)
            is_going = is_going or begun["going"]
        secs = REFRESH_SECS if is_going else IDLE_SECS
        return self._shown("sources.html.j2", sources=found, begun=begun, refresh=secs)

    async def source(self, request: Request) -> Response:
        """One source: its nights and pages."""
        name = _query(request, "name")
        offset = _number(request, "offset")
        record = await self._read(views.record_of, name)
        found = await self._read(views.source, record)
        pages = await self._read(views.pages, name, offset)
        return self._shown(
            "source.html.j2",
            found=found,
            pages=pages,
            section=section_of,
            offset=offset,
            step=views.LISTED,
            refresh=REFRESH_SECS if found.is_going else IDLE_SECS,
        )

    async def search(self, request: Request) -> Response:
        """The results of a query; of `part=1` alone, for a page that is typed in."""
        query = _query(request, "q")
        name = _query(request, "source")
        found = await self._read(views.search, query, name)
        names = [one.name for one in await self._read(Library.records)]
        is_part = request.query_params.get("part") == "1"
        template = "results.html.j2" if is_part else "search.html.j2"
        return self._shown(template, found=found, source=name, names=names, marked=marked)

    async def page(self, request: Request) -> Response:
        """A page: rendered, raw, its chunks, links and history."""
        tab = request.query_params.get("tab", "read")
        read = partial(views.page, with_history=tab == "history")
        view = await self._read(read, _query(request, "id"), self.chunk_size)
        with_pictures = request.query_params.get("pictures") == "1"
        return self._shown("page.html.j2", page=view, tab=tab, with_pictures=with_pictures)

    async def night(self, request: Request) -> Response:
        """What changed in a night, or since a number of the history."""
        since = _number(request, "since") if "since" in request.query_params else None
        run_id = request.query_params.get("run")
        view = await self._read(views.night, _query(request, "source"), run_id, since)
        return self._shown("night.html.j2", changes=view.changes, view=view)

    async def feed(self, request: Request) -> Response:
        """The changes of the last night as an Atom feed."""
        name = _query(request, "source")
        record = await self._read(views.record_of, name)
        view = await self._read(views.night, name)
        body = updated_feed(None, view.changes, record.url, datetime.now(UTC))
        return Response(body, media_type="application/atom+xml")

    async def add(self, request: Request) -> Response:
        """The form for an address."""
        self._crawls()
        return self._shown("add.html.j2", url=_query(request, "url"), plan=None)

    async def bounds(self, request: Request) -> Response:
        """The form of what belongs to a source."""
        view = await self._read(views.bounds, _query(request, "name"), {})
        return self._shown("bounds.html.j2", view=view, tried=None)

    async def asset(self, request: Request) -> Response:
        """A style sheet or script of this page."""
        found = asset(request.path_params["name"])
        if found is None:
            return PlainTextResponse("not found\n", 404)
        return Response(found[0], media_type=found[1])

    # --- what is done ---

    async def plan(self, request: Request) -> Response:
        """What a crawl of an address would do; it sends requests, so it is a form."""
        url = (await self._form(request)).get("url", "").strip()
        return self._shown("add.html.j2", url=url, plan=await self._crawls().plan(url))

    async def add_now(self, request: Request) -> Response:
        """Start the crawl of a new source."""
        form = await self._form(request)
        data, _ = await self._do(self._crawls().add_source, form.get("url", ""))
        return RedirectResponse(address("/", added=data["source"]), 303)

    async def try_bounds(self, request: Request) -> Response:
        """What bounds would leave out, and what selectors make of three stored pages."""
        form = await self._form(request)
        view = await self._read(views.bounds, form.get("name", ""), form)
        parts = {name: view.given[name] for name in ("drop", "keep") if view.given[name]}
        self._crawls()
        samples = view.samples if parts else ()
        tried = await asyncio.gather(*(self._try_parts(one, parts) for one in samples))
        return self._shown("bounds.html.j2", view=view, tried=tried)

    async def _try_parts(
        self, page: PageRecord, parts: Mapping[str, str]
    ) -> tuple[PageRecord, Sequence[Hunk], str]:
        """Return a stored page, how it differs when it is fetched with selectors, and a remark."""
        try:
            cut = await self._crawls().page(page.url, parts)
        except SearchError as error:
            return page, (), str(error)
        hunks = views.differences(page, cut)
        if cut["origin"] not in {"html", "rendered"}:
            return page, hunks, "It comes as Markdown, which selectors leave as it is."
        return page, hunks, "" if hunks else "No part of it would go."

    async def save_bounds(self, request: Request) -> Response:
        """Keep bounds for the next crawls of a source."""
        form = await self._form(request)
        self._crawls()
        await self._read(views.save_bounds, form.get("name", ""), form)
        return RedirectResponse(address("/source", name=form.get("name", "")), 303)

    async def recrawl(self, request: Request) -> Response:
        """Start a crawl of a source."""
        name = (await self._form(request)).get("name", "")
        await self._do(self._crawls().recrawl_source, name)
        return RedirectResponse(address("/source", name=name), 303)

    async def stop(self, request: Request) -> Response:
        """Stop the crawl of a source."""
        name = (await self._form(request)).get("name", "")
        data, said = await self._do(self._crawls().cancel, name)
        if not data["stopping"]:
            raise SearchError(said)
        return RedirectResponse(address("/source", name=name), 303)

    async def delete(self, request: Request) -> Response:
        """Delete a source whose name was typed."""
        form = await self._form(request)
        name = form.get("name", "")
        self._crawls()
        if form.get("typed") != name:
            raise SearchError("nothing was deleted: type the name of the source to delete it")
        await self._read(_delete, name)
        return RedirectResponse("/", 303)

    # --- how ---

    async def _read(self, view: Callable[..., T], *arguments: Any) -> T:
        """Call a view with the library, in its thread."""

        def work() -> T:
            if self._library is None:
                self._library = self.open_library()
            return view(self._library, *arguments)

        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _do(self, action: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, action, *arguments)

    def _crawls(self) -> Crawls:
        if self.crawls is None:
            raise SearchError("nothing is started or deleted here: --allow-crawl allows it")
        return self.crawls

    async def _form(self, request: Request) -> dict[str, str]:
        async with request.form(max_files=0, max_fields=20) as given:
            form = {name: str(value) for name, value in given.items()}
        if not secrets.compare_digest(form.get("key", ""), self.form_key):
            raise SearchError("the form is of another server; load the page again")
        return form

    def _shown(self, template: str, *, status: int = 200, **values: Any) -> Response:
        common = {
            "may_crawl": self.crawls is not None,
            "form_key": self.form_key,
            "served": True,
        }
        return HTMLResponse(render(template, **{**common, **values}), status)

    def _missing(self, _request: Request, _error: Exception) -> Response:
        message = "There is nothing at this address."
        return self._shown("message.html.j2", heading="Not found", message=message, status=404)

    def _refused(self, _request: Request, error: Exception) -> Response:
        problems = "\n".join(getattr(error, "problems", [str(error)]))
        return self._shown("message.html.j2", heading="Not done", message=problems, status=400)


def _delete(library: Library, name: str) -> None:
    views.record_of(library, name)
    library.delete(name)


def _query(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _number(request: Request, name: str) -> int:
    given = _query(request, name)
    return int(given) if given.isascii() and given.isdigit() and len(given) < 19 else 0
