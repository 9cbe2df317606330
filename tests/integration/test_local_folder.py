"""A local folder of HTML or Markdown is a source like a site, and nothing outside it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from site_server import Reply


def html(title: str, body: str) -> str:
    """A page that links to no other of itself."""
    head = f"<!doctype html><html><head><title>{title}</title></head>"
    return f"{head}<body><main><h1>{title}</h1>{body}</main></body></html>"


TEXT = (
    "<p>A page of the folder, as long as a page of documentation is, and no shorter than that.</p>"
)
SECRET = "The secret of another folder."


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def found(outcome, folder: Path) -> dict[str, dict]:
    return outcome.by_path(folder.as_uri())


BUILT = {
    "index.html": html(
        "Home",
        '<a href="guide/a.html">A</a> <a href="/docs/guide/b">B</a> <a href="https://docs.example.com/docs/more">M</a>'
        '<link rel="stylesheet" href="/docs/site.css">' + TEXT,
    ),
    "site.css": "p {}",
    "guide/a.html": html("A", '<a href="../deep/">Deep</a> <a href="../deep">Deep</a>' + TEXT),
    "guide/b.html": html("B", TEXT),
    "more/index.html": html("More", TEXT),
    "deep/index.html": html("Deep", TEXT),
    "listed.html": html("Listed", TEXT),
    "sitemap.xml": "<urlset><url><loc>https://docs.example.com/docs/listed.html</loc></url>"
    "<url><loc>https://docs.example.com/docs/guide/a.html</loc></url></urlset>",
}


def test_a_built_site_is_crawled_without_a_server(run_crawl, tmp_path):
    folder = write(tmp_path / "built site", BUILT)
    first = run_crawl(str(folder))
    pages = found(first, folder)
    assert {path.rstrip("/") for path in pages} == {
        "", "/guide/a.html", "/guide/b", "/more", "/deep", "/listed.html"
    }  # fmt: skip
    assert {page["change"] for page in pages.values()} == {"new"}
    assert first.stats["downloader/response_status_count/200"] < 20

    (folder / "guide/a.html").write_text(
        html("A", '<a href="../deep/">Deep</a><p>Changed.</p>' + TEXT)
    )
    (folder / "listed.html").unlink()
    (folder / "sitemap.xml").write_text(BUILT["sitemap.xml"].replace("listed.html", "guide/b"))
    second = run_crawl(f"{folder.as_uri()}/")
    changes = {path: page["change"] for path, page in found(second, folder).items()}
    assert changes.pop("/guide/a.html") == "changed"
    assert changes.pop("/listed.html") == "deleted"
    assert set(changes.values()) == {"unchanged"}
    assert second.stats["downloader/response_status_count/304"] >= len(changes)
    assert second.exit_code == 0


def test_llms_files_of_a_folder_are_used_as_those_of_a_site(run_crawl, tmp_path):
    full = "".join(
        f"# {name}\nURL: https://docs.example.com/{name}.md\n\nThe text of {name}, in full.\n\n"
        for name in "ab"
    )
    listing = (
        "# Site\n\n## Guide\n\n- [a](https://docs.example.com/a.md): first\n- [c](/c.md): third\n"
    )
    files = {"index.html": html("Home", TEXT), "llms.txt": listing, "llms-full.txt": full}
    files |= {f"{name}.md": f"# {name}\n\nThe text of {name}, in full.\n" for name in "abc"}
    folder = write(tmp_path / "site", files)
    pages = found(run_crawl(f"file://{folder}"), folder)
    listed = {page["title"]: page["llms"] for page in pages.values()}
    assert set(listed) >= {"a", "b", "c"}
    assert (listed["a"]["section"], listed["a"]["description"]) == ("Guide", "first")
    assert listed["c"]["description"] == "third"


def test_a_folder_of_markdown_without_an_index(run_crawl, tmp_path):
    names = ("README.md", "guide/one.md", "guide/two.mdx", "notes/three.markdown")
    folder = write(
        tmp_path / "notes", {name: f"# {name}\n\nThe text of {name}.\n" for name in names}
    )
    write(folder, {".git/four.md": "# Hidden\n\nNot for anybody.\n"})
    pages = found(run_crawl(f"{folder}/"), folder)
    assert {page["title"] for page in pages.values()} == set(names)
    assert all(page["url"].startswith(folder.as_uri()) for page in pages.values())


def test_one_file_of_a_folder_is_a_page(run_crawl, tmp_path):
    folder = write(tmp_path / "notes", {"one.md": "# One\n\nThe text of one.\n"})
    (page,) = run_crawl(
        str(folder / "one.md"), spider="page", settings={"LLMS_DATA_DIR": tmp_path}
    ).documents
    assert (page["title"], page["url"]) == ("One", (folder / "one.md").as_uri())


def test_nothing_outside_the_folder_is_read(run_crawl, tmp_path):
    outside = write(
        tmp_path / "outside",
        {"secret.html": html("Secret", SECRET), "secret.md": f"# Secret\n\n{SECRET}\n"},
    )
    ways = [
        "file:///etc/passwd", (outside / "secret.html").as_uri(), "../outside/secret.html",
        "%2e%2e/outside/secret.html", "..%2foutside%2fsecret.html", "out/secret.html", "linked.html",
        ".env.html", "env.html", "seen/page.html", "pipe.html", "huge.html", "closed.html", "good.html", "//outside/secret.html",
        "file://localhost/etc/passwd", "a%00.html",
    ]  # fmt: skip
    links = "".join(f'<a href="{way}">{way}</a> ' for way in ways)
    files = {name: html(name, TEXT) for name in ("good.html", "closed.html", ".env.html")}
    folder = write(tmp_path / "folder", {**files, "index.html": html("Home", links + TEXT)})
    write(
        folder,
        {
            "llms.txt": f"# Site\n\n- [s]({(outside / 'secret.md').as_uri()}): out\n- [g](good.html): in\n"
        },
    )
    places = [
        f"{outside.as_uri()}/secret.md",
        f"{folder.as_uri()}/out/secret.md",
        "file:///etc/passwd",
    ]
    write(
        folder,
        {
            "sitemap.xml": f"<urlset>{''.join(f'<url><loc>{p}</loc></url>' for p in places)}</urlset>"
        },
    )
    (folder / "out").symlink_to(outside)
    (folder / "linked.html").symlink_to(outside / "secret.html")
    (folder / "env.html").symlink_to(".env.html")
    write(folder / ".hidden", {"page.html": html("Hidden", SECRET)})
    (folder / "seen").symlink_to(".hidden")
    os.mkfifo(folder / "pipe.html")
    with (folder / "huge.html").open("wb") as file:
        file.truncate(1 << 32)
    (folder / "closed.html").chmod(0)
    outcome = run_crawl(f"{folder}/", arguments={"scope": "host"})
    read = {Path(url).name for url in found(outcome, folder)}
    allowed = {"", "good.html"} | ({"closed.html"} if os.geteuid() == 0 else set())
    assert read <= allowed
    assert "/good.html" in found(outcome, folder)
    assert SECRET not in outcome.stdout + str(outcome.documents)
    assert "root:" not in str(outcome.documents)


def test_a_folder_is_not_read_for_a_site(serve, run_crawl, tmp_path):
    folder = write(tmp_path / "folder", {"secret.html": html("Secret", SECRET)})
    secret = f"{folder.as_uri()}/secret.html"
    site = serve(
        {
            "/": html(
                "Home",
                f'<a href="{secret}">S</a><a href="/moved">M</a><a href="/refresh">R</a>' + TEXT,
            ),
            "/moved": Reply("", 302, headers={"Location": secret}),
            "/refresh": f'<html><head><meta http-equiv="refresh" content="0; url={secret}"></head></html>',
            "/llms.txt": f"# Site\n\n- [S]({secret}): it\n",
            "/sitemap.xml": f"<urlset><url><loc>{secret}</loc></url></urlset>",
            "/robots.txt": f"Sitemap: {secret}\n",
        }
    )
    outcome = run_crawl(site.url, arguments={"scope": "domain"})
    assert [document["title"] for document in outcome.documents] == ["Home"]
    assert SECRET not in str(outcome.documents)


def test_a_folder_that_is_gone_deletes_nothing(run_crawl, tmp_path):
    folder = write(tmp_path / "notes", {"one.md": "# One\n\nThe text of one.\n"})
    assert len(run_crawl(str(folder)).documents) == 1
    folder.rename(tmp_path / "elsewhere")
    gone = run_crawl(str(folder))
    assert gone.exit_code == 2
    assert "cannot be read: No such file or directory" in gone.log
    (tmp_path / "elsewhere").rename(folder)
    assert [page["change"] for page in run_crawl(str(folder)).documents] == ["unchanged"]


@pytest.mark.parametrize("render", ["auto", "always"])
def test_no_browser_opens_files(run_crawl, tmp_path, render):
    shell = "<!doctype html><html><head><script src='app.js'></script></head><body><div id='root'></div></body></html>"
    folder = write(
        tmp_path / "app",
        {"index.html": shell, "app.js": "", "llms.txt": "# App\n\n- [a](a.md): text\n"},
    )
    write(folder, {"a.md": "# A\n\nThe text of a.\n"})
    outcome = run_crawl(str(folder), arguments={"render": render})
    assert [page["title"] for page in outcome.documents] == ["A"]


ODD_NAMES = ["C#.md", "Why?.md", "100%.md", "a b.md", "%41.md", "C++.HTML", "ü.md"]


def test_a_file_of_any_name_is_a_page_on_every_night(run_crawl, tmp_path):
    folder = write(tmp_path / "docs", {name: f"# {name}\n\nText of {name}." for name in ODD_NAMES})
    unnamed = os.fsencode(folder) + b"/caf\xe9.md"
    Path(os.fsdecode(unnamed)).write_text("# Latin\n\nA name that is not UTF-8.")
    for night in range(4):
        done = run_crawl(str(folder))
        changes = {document["title"]: document["change"] for document in done.documents}
        assert len(done.documents) == len(ODD_NAMES) + 1, changes
        assert set(changes.values()) == {"unchanged" if night else "new"}
        assert done.exit_code == 0
