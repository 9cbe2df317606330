"""A site that publishes its authors' Markdown as it is: links are relative to source files, pages are directories."""

from __future__ import annotations

NAMES = [f"{section}/{name}" for section in ("guide", "api") for name in "abcdef"]


def source(name: str) -> str:
    """The author's file `guide/a.md`: links to its neighbours, to another folder and to a picture."""
    section, _, letter = name.partition("/")
    if letter == "a":
        return f"# {name}\n\nNothing but ![a picture](img/{letter}.png) of it.\n"
    other = "api" if section == "guide" else "guide"
    return f"# {name}\n\nSee [a](a.md), [c](../{other}/c.md#part) and [home](../index.md).\n"


def site_of(names: list[str]) -> dict[str, str]:
    links = "".join(f"<a href='/{name}/'>{name}</a>" for name in names)
    home = f"<html><body><nav>{links}</nav><main><h1>Home</h1><p>Welcome.</p></main></body></html>"
    pages = {"/": home, "/index.md": "# Home\n\nWelcome to [a](guide/a.md).\n"}
    for name in names:
        pages[f"/{name}/"] = (
            f"<html><body><nav>{links}</nav><main><h1>{name}</h1></main></body></html>"
        )
        pages[f"/{name}/index.md"] = source(name)
    listed = "".join(f"- [{name}]({{base}}/{name}/index.md)\n" for name in names)
    return {**pages, "/llms.txt": f"# Site\n\n## Docs\n\n{listed}"}


def test_links_of_source_files_lead_to_pages_and_cost_nothing(serve, run_crawl, tmp_path):
    site = serve(site_of(NAMES))
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/", *(f"/{name}/" for name in NAMES)}
    assert documents["/guide/b/"]["content"] == (
        f"# guide/b\n\nSee [a]({site.url}/guide/a/), [c]({site.url}/api/c/#part) and [home]({site.url}/).\n"
    )
    assert documents["/api/a/"]["content"].endswith(
        f"![a picture]({site.url}/api/img/a.png) of it.\n"
    )
    links = {link["url"].partition("#")[0] for page in outcome.documents for link in page["links"]}
    assert links <= {page["url"] for page in outcome.documents}
    assert [
        path for path in site.paths() if site.reply_status(path) == 404 and path.endswith(".md")
    ] == []
    assert outcome.stats["llms/markdown-links/source"] == len(NAMES)

    again = run_crawl(None, arguments={"source": documents["/"]["source"], "full": "true"})
    assert {page["change"] for page in again.documents} == {"unchanged"}


def test_links_in_full_text_are_those_of_the_source_files_too(serve, run_crawl):
    text = "\n\n".join(
        source(name).replace("\n", f"\nSource: {{base}}/{name}/\n", 1) for name in NAMES
    )
    site = serve(
        {path: page for path, page in site_of(NAMES).items() if not path.endswith((".md", ".txt"))}
    )
    site.pages["/llms-full.txt"] = text
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert documents["/guide/b/"]["origin"] == "llms-full"
    assert documents["/guide/b/"]["links"][1]["url"] == f"{site.url}/api/c/#part"
    assert documents["/api/a/"]["content"].endswith(
        f"![a picture]({site.url}/api/img/a.png) of it.\n"
    )
    assert "llms/errors/not_found" not in outcome.stats
