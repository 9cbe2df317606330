"""Results lead to the heading, on sites of HTML, of Markdown and of one file for all pages."""

from pathlib import Path

from site_server import TYPES, Reply
from sites import html

from llmsspider import search

NAMES = ["lions", "tigers", "bears", "zebras"]
HOME = html("Home", " ".join(f"<a href='/d/{name}'>{name}</a>" for name in NAMES))
HEADS = ["What it is", "Where it lives", "How it hunts", "Its young"]


def parts(name: str, form: str) -> str:
    return "".join(
        form.format(head, head.lower().replace(" ", "_"), f"{head} of {name}. " * 12)
        for head in HEADS
    )


PAGES = {f"/d/{name}": html(name, parts(name, "<h2 id='{1}'>{0}</h2><p>{2}</p>")) for name in NAMES}
MADE = {
    path: body.replace("_", "-") for path, body in PAGES.items()
}  # as generators make ids of headings
TEXTS = {name: f"# {name}\n\n" + parts(name, "## {0}\n\n{2}\n\n") for name in NAMES}
LISTED = "# Site\n\n> Animals.\n\n## Docs\n\n"


def first(query: str, folder: Path) -> str:
    """The address of the first result, without its host."""
    (found,) = search("docs", query, store=folder / "store", limit=1)
    return found.url.partition("/d/")[2]


def test_ids_are_those_of_the_html(serve, run_crawl, tmp_path):
    site = serve({"/": HOME, **PAGES})
    run_crawl(f"{site.url}/", arguments={"source": "docs"})
    assert first("how tigers hunts", tmp_path) == "tigers#how_it_hunts"
    assert first("where zebras lives", tmp_path) == "zebras#where_it_lives"


def test_markdown_gets_the_ids_that_samples_of_its_host_have(serve, run_crawl, tmp_path):
    twins = {f"/d/{name}.md": Reply(text, 200, TYPES["md"]) for name, text in TEXTS.items()}
    links = "".join(f"- [{name}]({{base}}/d/{name}.md)\n" for name in NAMES)
    site = serve({"/": HOME, **MADE, **twins, "/llms.txt": LISTED + links})
    found = run_crawl(f"{site.url}/", arguments={"source": "docs"}).by_path(site.url)
    assert {found[path]["origin"] for path in MADE} == {"markdown"}
    for name in NAMES:
        assert first(f"how {name} hunts", tmp_path) == f"{name}#how-it-hunts"


def test_a_file_for_all_pages_gets_the_ids_of_a_page_that_was_read_for_its_links(
    serve, run_crawl, tmp_path
):
    full = "".join(
        text.replace("\n\n", f"\nSource: {{base}}/d/{name}\n\n", 1) for name, text in TEXTS.items()
    )
    site = serve({"/": HOME, **MADE, "/llms.txt": LISTED, "/llms-full.txt": full})
    found = run_crawl(f"{site.url}/d/lions", arguments={"source": "docs"}).by_path(site.url)
    assert {found[path]["origin"] for path in MADE} == {"llms-full"}
    assert first("how tigers hunts", tmp_path) == "tigers#how-it-hunts"
