"""`scrapy lint URL|FILE|SOURCE`: what the owner of an llms.txt should mend."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from llmsspider import errors
from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import choice_problems, number, option
from llmsspider.errors import ArgumentsError, InvalidUrlError
from llmsspider.web.urls import require_http_url

if TYPE_CHECKING:
    from llmsspider.lint.findings import Finding

NEVER = "never"


class Command(OneLineCommand):
    """Checks a file on disk, or a site with the files that it offers."""

    requires_crawler_process = True
    usage = "[options] URL|FILE|SOURCE"
    options = (
        option("--format", "one of: text, json, github, sarif (default: text)", default="text"),
        option(
            "--fail-on",
            "worst finding that is let pass is below: error, warning, hint, never (default: error)",
            default="error",
        ),
        option("--url", "FILE: the address that it is served at", metavar="URL"),
        option(
            "--max-links", "URL, SOURCE: links to check (default: 200)", metavar="N", default="200"
        ),
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments, lint, print, and set the exit code."""
        from llmsspider.lint.findings import FORMATS, is_as_bad

        self._check(args, opts)
        target = args[0]
        notes: list[str] = []
        if "://" in target:
            findings = self._site(target, None, opts, notes)
        elif Path(target).exists():
            findings = self._file(Path(target), opts)
        else:
            findings = self._source(target, opts, notes)
        if findings is None:
            return
        sys.stdout.write(FORMATS[opts.format](findings, notes))
        if opts.fail_on != NEVER and any(is_as_bad(one.level, opts.fail_on) for one in findings):
            self.exitcode = 1

    @staticmethod
    def _check(args: list[str], opts: argparse.Namespace) -> None:
        """Raise `ArgumentsError` for arguments that are wrong."""
        from llmsspider.lint.findings import FORMATS, LEVELS

        problems = []
        if len(args) != 1 or not args[0].strip():
            problems.append(
                f"name one llms.txt: a URL, a file, or a source; `{errors.command('sources')}`"
                " lists these"
            )
        problems += choice_problems(
            ("--format", opts.format, FORMATS), ("--fail-on", opts.fail_on, (*LEVELS, NEVER))
        )
        if (max_links := number(opts.max_links)) is None or max_links > 999_999:
            problems.append(f"--max-links {opts.max_links!r}: a number of 0 or more is accepted")
        for url in filter(None, [*(one for one in args[:1] if "://" in one), opts.url]):
            try:
                require_http_url(url)
            except InvalidUrlError as error:
                problems.append(str(error))
        if problems:
            raise ArgumentsError(problems)

    def _file(self, path: Path, opts: argparse.Namespace) -> list[Finding] | None:
        from llmsspider.lint.text import lint_body
        from llmsspider.site.discovery import MAX_FULL_BYTES

        if path.is_dir():
            raise ArgumentsError(
                [f"{path} is a folder: name the file, such as {path / 'llms.txt'}"]
            )
        size = path.stat().st_size
        if size > MAX_FULL_BYTES:
            raise ArgumentsError(
                [f"{path} has {size:,} bytes: at most {MAX_FULL_BYTES:,} are read"]
            )
        try:
            return lint_body(path.read_bytes(), str(path), opts.url)
        except OSError as error:  # one of reading names no file
            self.fail(f"{path}: {error.strerror or error}", 1)
            return None

    def _source(
        self, name: str, opts: argparse.Namespace, notes: list[str]
    ) -> list[Finding] | None:
        with self.stores().open(name, create=False) as store:
            record = store.source_record()
        assert record is not None  # noqa: S101  # it is known
        return self._site(record.url, record.llms_txt, opts, notes)

    def _site(
        self,
        url: str,
        llms_txt: str | None,
        opts: argparse.Namespace,
        notes: list[str],
    ) -> list[Finding] | None:
        from llmsspider.lint.site import LintSpider
        from llmsspider.site.llmstxt import is_llms_url

        self.stores()  # the settings are right
        process = self.crawler_process
        assert process is not None  # noqa: S101  # it is required
        crawler = process.create_crawler(LintSpider)
        process.crawl(
            crawler,
            url=url,
            max_links=int(opts.max_links),
            llms_txt=llms_txt or (url if is_llms_url(url) else None),
        )
        process.start()
        spider = crawler.spider
        if not isinstance(spider, LintSpider) or spider.findings is None:
            self.fail(f"{url}: the check did not come to an end", 1)
            return None
        if spider.unchecked:
            notes.append(
                f"{len(spider.checked)} links were checked, {spider.unchecked} were not:"
                " --max-links"
            )
        return spider.findings
