"""A site that begins to offer its pages in another form: only what pages say is told."""

from __future__ import annotations

import pytest
from sites import html

PAGES = [f"p{number}" for number in range(8)]
LEAD = "How the part works, step by step, and what it needs before it can be used at all."


class Kit:
    """A site whose pages have an admonition, code and a link, as HTML and as Markdown."""

    def __init__(self) -> None:
        self.sign = dict.fromkeys(PAGES, "+")
        self.target = dict.fromkeys(PAGES, "/p0.html")
        self.title = {name: f"Part {name}" for name in PAGES}

    def html(self) -> dict[str, str]:
        links = "".join(f"<a href='/{name}.html'>{name}</a>" for name in PAGES)
        pages = {"/": html("Kit", f"<p>{LEAD}</p>{links}")}
        for name in PAGES:
            note = f"<p class='admonition-title'>Note</p><p>{name} comes first.</p>"
            code = (
                f"<pre><code class='language-js'>let {name} = a {self.sign[name]} 1\n</code></pre>"
            )
            more = f"<p>See <a href='{self.target[name]}'>the other</a>.</p>"
            body = f"<p>{LEAD}</p><div class='admonition note'>{note}</div>{code}{more}"
            pages[f"/{name}.html"] = html(self.title[name], body)
        return pages

    def markdown(self, base: str) -> dict[str, str]:
        listed = "".join(f"- [{name}]({base}/{name}.md): a part\n" for name in PAGES)
        pages = {"/llms.txt": f"# Kit\n\n> All of it.\n\n## Parts\n\n{listed}"}
        for name in PAGES:
            code = f"```js\nlet {name} = a {self.sign[name]} 1\n```"
            note = f":::note\n\n{name} comes first.\n\n:::"
            more = f"See [the other]({self.target[name]})."
            pages[f"/{name}.md"] = f"# {self.title[name]}\n\n{LEAD}\n\n{note}\n\n{code}\n\n{more}\n"
        return pages

    def full_text(self, base: str) -> dict[str, str]:
        pages = self.markdown(base)
        parts = (
            f"# {self.title[name]}\nSource: {base}/{name}.html\n\n"
            + pages[f"/{name}.md"].partition("\n\n")[2]
            for name in PAGES
        )
        listed = pages["/llms.txt"].replace(".md)", ".html)")
        return {"/llms.txt": listed, "/llms-full.txt": "\n".join(parts)}

    def in_form(self, form: str, base: str) -> dict[str, str]:
        more = {"html": {}, "markdown": self.markdown(base), "full text": self.full_text(base)}
        return self.html() | more[form]


FORMS = [
    ("html", "markdown"),
    ("html", "full text"),
    ("markdown", "html"),
    ("markdown", "full text"),
]


def told(outcome, base: str) -> dict[str, str]:
    found = outcome.by_path(base).items()
    return {path: one["change"] for path, one in found if one["change"] != "unchanged"}


@pytest.mark.parametrize(("before", "after"), FORMS)
def test_only_what_pages_say_is_told_when_their_form_changes(serve, run_crawl, before, after):
    kit = Kit()
    site = serve({})
    site.pages = kit.in_form(before, site.url)
    run_crawl(f"{site.url}/")
    kit.sign["p2"] = "-"
    kit.target["p3"] = "/p5.html"
    kit.title["p4"] = "Part four"
    site.pages = kit.in_form(after, site.url)
    night = run_crawl(f"{site.url}/")
    assert told(night, site.url) == dict.fromkeys(["/p2.html", "/p3.html", "/p4.html"], "changed")
    assert told(run_crawl(f"{site.url}/"), site.url) == {}


@pytest.mark.parametrize("after", ["html", "markdown"])
def test_what_pages_say_is_told_in_the_second_night_without_their_full_text_file(
    serve, run_crawl, after
):
    kit = Kit()
    site = serve({})
    site.pages = kit.in_form("full text", site.url)
    run_crawl(f"{site.url}/")
    kit.sign["p2"] = "-"
    kit.target["p3"] = "/p5.html"
    kit.title["p4"] = "Part four"
    site.pages = kit.in_form(after, site.url)
    assert told(run_crawl(f"{site.url}/"), site.url) == {}, "it may be away for once"
    night = run_crawl(f"{site.url}/")
    assert told(night, site.url) == dict.fromkeys(["/p2.html", "/p3.html", "/p4.html"], "changed")
    assert told(run_crawl(f"{site.url}/"), site.url) == {}


@pytest.mark.parametrize("has_titles", [True, False])
def test_a_change_of_form_alone_is_never_told(serve, run_crawl, has_titles):
    kit = Kit()
    site = serve(kit.html())
    run_crawl(f"{site.url}/")
    markdown = kit.markdown(site.url)
    if not has_titles:
        texts = {path: text for path, text in markdown.items() if path.endswith(".md")}
        markdown |= {path: text.partition("\n\n")[2] for path, text in texts.items()}
    site.pages = kit.html() | markdown
    assert told(run_crawl(f"{site.url}/"), site.url) == {}
    markdown = {path: text.replace(":::note", "!!! note") for path, text in markdown.items()}
    site.pages = kit.html() | markdown
    assert told(run_crawl(f"{site.url}/"), site.url) == {}, "other bytes, the same words"
    kit.sign["p2"] = "-"
    edited = {"/p2.md": markdown["/p2.md"].replace("+ 1", "- 1")}
    site.pages = kit.html() | markdown | edited
    assert told(run_crawl(f"{site.url}/"), site.url) == {"/p2.html": "changed"}
    site.pages = kit.html()
    assert told(run_crawl(f"{site.url}/"), site.url) == {}
