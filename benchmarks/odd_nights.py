"""One odd night of each kind at each kind of site: `python benchmarks/odd_nights.py [--faults WORD …] [--forms WORD …]`.

A site of 41 pages is crawled, then on a night on which a share of its pages answers, with status 200, something else
than the page, then as it is again; `--stays` has the fault stay for three nights instead, as what is meant does. Prints
for each fault, kind of site and number of pages what was told, what was overwritten and what was deleted, on the night
and on the next. Exit code 1 where text was overwritten or deleted.
"""

# ruff: noqa: SIM905 (word lists read better unbroken)

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "support"), str(HERE.parent)]

from crawling import Outcome, crawl  # noqa: E402
from site_server import TYPES, Reply, Seen, Site, serving  # noqa: E402

PAGES = 41
SHARES = (3, 7, 20, PAGES)
"""Numbers of pages that answer something else."""
COMMON = (
    "the of a to in is value option parameter returns when default index client table query with and or not each"
    " field type object list string number path file name column session cache connection handler body stream"
    " install configure example section below above see note that this can must should will be used for from into"
).split()
SYLLABLES = (
    "ba ce di fo gü ha je ki ló mu né pe qui ro sß ta ve wi xo yu za bre cli dro fle gro".split()
)


class Text(NamedTuple):
    """A page: its title, and its text as Markdown without it."""

    title: str
    body: str
    nav: bool = True
    sent: Callable[[bytes], bytes] = bytes  # what becomes of its bytes on the way


def words(seed: str, number: int) -> list[str]:
    """Return words that another seed hardly has."""
    chance = random.Random(seed)
    return ["".join(chance.choices(SYLLABLES, k=3)) for _ in range(number)]


def prose(seed: str, number: int, own: list[str]) -> str:
    """Return sentences of common words and of `own` ones."""
    chance = random.Random(seed)
    said = [chance.choice(own if chance.random() < 0.4 else COMMON) for _ in range(number)]
    return " ".join(said).capitalize() + "."


def page(number: int, language: str = "") -> Text:
    """Return a page as it is."""
    own = words(f"{number} {language}", 24)
    title = f"{own[0].title()} and {own[1]}"
    parts = [prose(f"{number} intro", 40, own)]
    for part in range(2, 4):
        parts += [f"## {own[part].title()} {own[part + 2]}", prose(f"{number} {part}", 50, own)]
    parts.append(f"```\n{own[5]}.{own[6]}({own[7]})\n```")
    text = "\n\n".join(parts)
    if language:
        text = " ".join(f"{word}{language}" if word in COMMON else word for word in text.split(" "))
    return Text(title, text)


def ticket(number: int) -> str:
    """Return what is other in each answer of one wall."""
    return " ".join(words(f"ticket {number}", 6))


WALL = (
    "Our gateway looks at this visit before it lets you through. Keep this window open for a moment; cookies and a"
    " current browser help. Networks that send many visits in a short while are looked at more closely. Should this"
    " take longer than a minute, reach the people who run the service and name the ticket below."
)
CONSENT = (
    "We and our 214 partners store information on your device to show ads that fit you. Choose what you agree to."
    " You may change your mind at any time in the privacy settings.\n\nAccept all\n\nReject all\n\nManage choices"
)
MEMBERS = "Welcome back. Continue with the account of your organisation to read on.\n\nContinue with SSO\n\nHelp"
UPKEEP = "We are moving to a new data centre this weekend. Everything returns by Monday morning. Thanks for waiting!"
OOPS = (
    "Hmm, there does not seem to be anything here. The address may be old, or mistyped. These might help:\n\n"
    "- [Home](/)\n- [Search](/search)\n- [Contact](/contact)"
)


def trace(number: int) -> Text:
    own = words(str(number), 24)
    lines = [
        f'  File "/srv/app/views.py", line {100 + number}, in {own[0]}',
        "    return render(page)",
    ]
    body = (
        "Traceback (most recent call last):\n" + "\n".join(lines) + "\nTemplateNotFound: page.html"
    )
    return Text("Application error", f"```\n{body}\n```")


def half(number: int) -> Text:
    said = page(number)
    return said._replace(body=said.body[: len(said.body) // 2])


def shifted(by: int, *, titles: bool) -> Callable[[int], Text]:
    def made(number: int) -> Text:
        other = page((number + by) % PAGES)
        return other if titles else other._replace(title=page(number).title)

    return made


def start(_: int) -> Text:
    links = "\n".join(f"- [{page(number).title}](/docs/{name(number)})" for number in range(PAGES))
    return Text("Documentation", f"Welcome to all of it.\n\n{links}")


def tips(number: int) -> str:
    """Return a wall with a date, the id of the request and three of forty tips."""
    chosen = random.Random(number).sample(range(40), 3)
    said = "\n\n".join(
        f"Did you know? {prose(f'tip {tip}', 25, words('tips', 20))}" for tip in chosen
    )
    return f"{WALL}\n\n2026-11-{number % 28 + 1:02} 0{number % 9}:1{number % 9}, request {ticket(number)}.\n\n{said}"


def last_year(number: int, parts: int) -> Text:
    """Return a page in which so many of its parts were others a year ago."""
    blocks = page(number).body.split("\n\n")
    for block in (0, 2, 4)[:parts]:
        blocks[block] = prose(f"{number} {block} old", 45, words(f"{number} ", 24))
    return Text(page(number).title, "\n\n".join(blocks))


def variant(number: int) -> Text:
    """Return a page with another headline and a first paragraph in other words."""
    blocks = page(number).body.split("\n\n")
    said = blocks[0].split()
    blocks[0] = " ".join(["Friendly", *said[10:], *said[:10]])
    return Text(f"Get going: {page(number).title}", "\n\n".join(blocks))


def wrongly_decoded(number: int) -> Text:
    said = page(number)
    title, body = (text.encode().decode("latin-1") for text in said[:2])
    return Text(title, body)


def without_letters(number: int) -> Text:
    said = page(number)
    title, body = (text.encode("ascii", "replace").decode() for text in said[:2])
    return Text(title, body)


LATIN = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna"
    " aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat"
).split()


def lorem(number: int) -> str:
    chance = random.Random(f"lorem {number}")
    return "\n\n".join(" ".join(chance.sample(LATIN, 30)) for _ in range(4))


def without(number: int, *marks: str) -> Text:
    """Return a page without its blocks that begin so."""
    said = page(number)
    return said._replace(
        body="\n\n".join(block for block in said.body.split("\n\n") if not block.startswith(marks))
    )


def beginning(number: int, then: str) -> Text:
    """Return the first words of a page, and what stands there in place of the rest."""
    return page(number)._replace(body=" ".join(page(number).body.split()[:15]) + then)


def filled(number: int, value: str) -> Text:
    """Return a page in which words that a template fills in are `value`."""
    said = re.sub(r"\b(?:value|option|name|path|file|number|string)\b", value, page(number).body)
    return page(number)._replace(body=said)


def above(number: int, line: str) -> Text:
    return page(number)._replace(body=f"{line}\n\n{page(number).body}")


def as_text(number: int) -> Text:
    """Return a page whose markup is shown."""
    shown = as_html(page(number), "").partition("<main>")[2].partition("</main>")[0]
    return page(number)._replace(body=shown)


FAULTS: dict[str, Callable[[int], Text]] = {
    "wall, navigation kept": lambda n: Text("One moment", f"{WALL}\n\nTicket {ticket(n)}."),
    "wall, alone": lambda n: Text("One moment", f"{WALL}\n\nTicket {ticket(n)}.", nav=False),
    "wall, title kept": lambda n: Text(page(n).title, f"{WALL}\n\nTicket {ticket(n)}."),
    "wall with tips, navigation kept": lambda n: Text("One moment", tips(n)),
    "wall with tips, title kept": lambda n: Text(page(n).title, tips(n)),
    "long varying wall": lambda n: Text("One moment", f"{WALL}\n\n{prose(f'wall {n}', 300, words(f'wall {n}', 60))}"),
    "long varying wall, title kept": lambda n: Text(page(n).title, f"{WALL}\n\n{prose(f'wall {n}', 300, words(f'wall {n}', 60))}"),
    "geo block": lambda n: Text("Not here", f"Our lawyers keep this service closed where you are.\n\nRay {ticket(n)}.", nav=False),
    "geo block, title kept": lambda n: Text(page(n).title, "This content is not available in your region."),
    "consent": lambda n: Text("Your privacy", CONSENT, nav=False),
    "consent, navigation kept": lambda n: Text(page(n).title, CONSENT),
    "members only": lambda n: Text("Members", MEMBERS),
    "upkeep": lambda n: Text("We will return", UPKEEP, nav=False),
    "upkeep, site's title": lambda n: Text("Site", UPKEEP),
    "upkeep, navigation kept": lambda n: Text(page(n).title, UPKEEP),
    "bodies of the next page": shifted(1, titles=True),
    "bodies of the page after next": shifted(2, titles=True),
    "bodies of the next page, title kept": shifted(1, titles=False),
    "two and two swapped": lambda n: page(min(n ^ 1, PAGES - 1)),
    "two and two swapped, title kept": lambda n: page(min(n ^ 1, PAGES - 1))._replace(title=page(n).title),
    "all one page": lambda n: page(0 if n else 1),
    "all one page, title kept": lambda n: page(0 if n else 1)._replace(title=page(n).title),
    "template not filled": lambda n: Text("{{ page.title }}", "{{ page.content }}\n\n{{ undefined }}"),
    "template not filled, title kept": lambda n: Text(page(n).title, "{% include page.html %} {{ undefined }}"),
    "undefined": lambda n: Text(page(n).title, "undefined"),
    "stack trace": trace,
    "stack trace, title kept": lambda n: trace(n)._replace(title=page(n).title),
    "half a page and a stack trace": lambda n: half(n)._replace(body=f"{half(n).body}\n\n{trace(n).body}"),
    "half a page": half,
    "another language": lambda n: page(n, "lich"),
    "another language, title kept": lambda n: page(n, "lich")._replace(title=page(n).title),
    "another site": lambda n: Text(f"Best {ticket(n)}", prose(f"spam {n}", 200, words(f"spam {n}", 30))),
    "staging": lambda n: Text(page(n).title, lorem(n)),
    "last year's page, a part": lambda n: last_year(n, 1),
    "last year's page, two parts": lambda n: last_year(n, 2),
    "last year's page": lambda n: last_year(n, 3),
    "another variant": variant,
    "soft 404": lambda n: Text("Oops", OOPS),
    "soft 404, title kept": lambda n: Text(page(n).title, OOPS),
    "empty": lambda n: Text(page(n).title, ""),
    "empty, no title": lambda n: Text("", ""),
    "start page": start,
    "wrongly decoded": wrongly_decoded,
    "letters that are question marks": without_letters,
    "gzip that does not say so": lambda n: page(n)._replace(sent=gzip.compress),
    "no code": lambda n: without(n, "```"),
    "no headings": lambda n: without(n, "## "),
    "headings and code alone": lambda n: Text(page(n).title, "\n\n".join(re.findall(r"^## .*|```[^`]*```", page(n).body, re.MULTILINE))),
    "a summary": lambda n: beginning(n, "… Read more"),
    "subscribe to read on": lambda n: beginning(n, "\n\nSubscribe to read on. Plans begin at 9 a month.\n\nSubscribe"),
    "said twice": lambda n: page(n)._replace(body=f"{page(n).body}\n\n{page(n).body}"),
    "shown as text": as_text,
    "values not filled in": lambda n: filled(n, "{{ value }}"),
    "values undefined": lambda n: filled(n, "undefined"),
    "a warning above": lambda n: above(n, f'Warning: Undefined array key "id" in /srv/page.php on line {n}'),
    "an error above": lambda n: above(n, f"Liquid error (line {n}): internal"),
    "a banner above": lambda n: above(n, "This is the staging host of our documentation. Nothing here is final."),
    "half of the bytes": lambda n: page(n)._replace(sent=lambda body: body[: len(body) // 2]),
}  # fmt: skip
FORMS = ("sitemap", "links", "llms.txt", "llms-full", "negotiated", "client")


def name(number: int) -> str:
    """Return the name of a page in its address: no number, as a series would have."""
    return "-".join(words(str(number), 2)).encode("ascii", "ignore").decode()


def as_html(text: Text, nav: str, more: str = "") -> str:
    """Write a page as HTML."""
    blocks = []
    for block in filter(None, text.body.split("\n\n")):
        if block.startswith("## "):
            blocks.append(f"<h2>{escape(block[3:])}</h2>")
        elif block.startswith("```"):
            blocks.append(f"<pre><code>{escape(block.strip('`').strip())}\n</code></pre>")
        elif block.startswith("- "):
            links = (line[3:-1].split("](") for line in block.splitlines())
            blocks.append(
                "<ul>"
                + "".join(f"<li><a href='{to}'>{escape(of)}</a></li>" for of, to in links)
                + "</ul>"
            )
        else:
            blocks.append(f"<p>{escape(block)}</p>")
    title = escape(text.title)
    return (
        f"<!doctype html><html lang=en><head><title>{title} - Site</title>{more}</head><body>"
        f"{nav if text.nav else ''}<main><h1>{title}</h1>{''.join(blocks)}</main></body></html>"
    )


def as_markdown(text: Text) -> str:
    """Write a page as Markdown."""
    return f"# {text.title}\n\n{text.body}\n"


SCRIPT = "fetch('/data'+location.pathname+'.json').then(r=>r.json()).then(p=>{document.body.innerHTML=p.html})"
SHELL = f"<!doctype html><html><head><title>Site</title></head><body><div id=root></div><script type=module>{SCRIPT}</script></body></html>"


def pages(form: str, said: list[Text]) -> dict[str, Any]:
    """Return the answers of a site of this kind by path."""
    paths = [f"/docs/{name(number)}" for number in range(PAGES)]
    links = "".join(f"<a href='{path}'>{path[6:]}</a> " for path in paths)
    shown = links if form in {"links", "client", "negotiated"} else ""
    nav = f"<nav><a href='/docs/'>Home</a> {shown}</nav>"
    home = as_html(Text("Home", "Welcome to the documentation of it."), nav)
    found: dict[str, Any] = {"/docs/": home}
    listed = ""
    full = ""
    for number, (path, text) in enumerate(zip(paths, said, strict=True)):
        html = as_html(text, nav)
        markdown = as_markdown(text)
        found[path] = Reply(text.sent(html.encode()), content_type=TYPES["html"])
        if form == "client":
            found[path] = SHELL
            found[f"/data{path}.json"] = _data(html, text)
        elif form == "negotiated":
            found[path] = _negotiated(markdown, html, text)
        elif form == "llms.txt":
            found[f"{path}.md"] = Reply(text.sent(markdown.encode()), content_type=TYPES["md"])
        ending = ".md" if form == "llms.txt" else ""
        listed += f"- [{page(number).title}]({{base}}{path}{ending})\n"
        full += f"# {text.title}\n\nSource: {{base}}{path}\n\n{text.body}\n\n"
    if form == "client":
        found["/docs/"] = SHELL
        found["/data/docs/.json"] = _data(home, page(0))
    elif form == "sitemap":
        entries = "".join(f"<url><loc>{{base}}{path}</loc></url>" for path in ("/docs/", *paths))
        found["/sitemap.xml"] = (
            f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>"
        )
    elif form in {"llms.txt", "llms-full"}:
        found["/docs/llms.txt"] = f"# Site\n\n> All about it.\n\n## Docs\n\n{listed}"
    if form == "llms-full":
        found["/docs/llms-full.txt"] = full
    return found


def _data(html: str, text: Text) -> Reply:
    drawn = {"html": html.partition("<body>")[2].partition("</body>")[0]}
    return Reply(text.sent(json.dumps(drawn).encode()), content_type=TYPES["json"])


def _negotiated(markdown: str, html: str, text: Text) -> Callable[[Seen], Reply]:
    def reply(seen: Seen) -> Reply:
        is_markdown = "text/markdown" in seen.headers.get("accept", "")
        body = markdown if is_markdown else html
        return Reply(
            text.sent(body.encode()),
            content_type=TYPES["md" if is_markdown else "html"],
            headers={"Vary": "Accept"},
        )

    return reply


class Night(NamedTuple):
    """What one crawl did: documents told by change, texts that were replaced, errors."""

    changes: Counter[str]
    overwritten: int

    def __str__(self) -> str:
        told = self.changes["changed"] + self.changes["new"]
        return f"{told} told, {self.overwritten} overwritten, {self.changes['deleted']} deleted"


def night(outcome: Outcome, before: dict[str, str]) -> Night:
    """Compare what a crawl delivered with the texts of before."""
    changes = Counter(one["change"] for one in outcome.documents)
    now = {one["url"]: one["content"] for one in outcome.documents}
    return Night(changes, sum(now.get(url) not in {text, None} for url, text in before.items()))


def main() -> None:
    """Crawl and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", nargs="*", default=[])
    parser.add_argument("--forms", nargs="*", default=[])
    parser.add_argument("--shares", nargs="*", type=int, default=SHARES)
    parser.add_argument("--stays", action="store_true")
    options = parser.parse_args()
    faults = [
        one for one in FAULTS if not options.faults or any(word in one for word in options.faults)
    ]
    forms = [one for one in FORMS if one in (options.forms or FORMS)]
    wrong = 0
    site = Site({})
    with tempfile.TemporaryDirectory() as folder, serving(site):
        right = [page(number) for number in range(PAGES)]
        for form in forms:
            base = Path(folder, form)
            base.mkdir()
            site.pages = pages(form, right)
            outcome = crawl(f"{site.url}/docs/", base)
            first = {one["url"]: one["content"] for one in outcome.documents}
            if len(first) != PAGES + 1:
                raise SystemExit(f"{form}: {len(first)} documents\n{outcome.log[-3000:]}")
            for fault in faults:
                for share in options.shares:
                    place = Path(folder, "night")
                    shutil.copytree(base, place)
                    behind = random.Random(fault).sample(range(PAGES), share)
                    odd = [
                        FAULTS[fault](n) if n in behind else text for n, text in enumerate(right)
                    ]
                    nights = []
                    for said in (odd, odd, odd) if options.stays else (odd, right):
                        site.pages = pages(form, said)
                        nights.append(night(crawl(f"{site.url}/docs/", place), first))
                    shutil.rmtree(place)
                    bad = any(one.overwritten or one.changes["deleted"] for one in nights[:1])
                    wrong += bad
                    mark = "WRONG" if bad else ""
                    print(
                        f"| {fault} | {form} | {share} | {' | '.join(map(str, nights))} | {mark} |",
                        flush=True,
                    )
    print(f"{wrong} nights overwrote or deleted")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
