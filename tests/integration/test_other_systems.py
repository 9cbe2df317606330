"""The main job without the modules that Windows lacks: they are imported where they are used."""

from __future__ import annotations

import os
import subprocess
import sys

from crawling import ROOT, crawl_words
from forked import HANGS_SECS
from sites import PLAIN

WITHOUT = """
import builtins, runpy, sys

imported = builtins.__import__


def checked(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    is_ours = importer.startswith("llmsspider")
    if name in {"fcntl", "resource", "termios", "pwd", "grp"} and is_ours:
        if sys._getframe(1).f_code.co_name == "<module>":
            raise ImportError(f"{importer} imports {name}, which Windows has not")
    return imported(name, globals, locals, fromlist, level)


builtins.__import__ = checked
sys.argv = ["scrapy", *sys.argv[1:]]
runpy.run_module("scrapy", run_name="__main__")
"""


def test_a_crawl_and_a_sync_need_no_module_of_posix(serve, tmp_path) -> None:
    site = serve(PLAIN)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", WITHOUT, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANGS_SECS,
            check=False,
        )

    crawled = run(*crawl_words(f"{site.url}/", tmp_path), "-O", "d.jsonl")
    assert crawled.returncode == 0, crawled.stderr
    assert len((tmp_path / "d.jsonl").read_text().splitlines()) == 4
    (tmp_path / "sources.toml").write_text(f'[[sources]]\nurl = "{site.url}/"\n')
    settings = ["-s", f"LLMS_DATA_DIR={tmp_path / 'store'}"]
    settings += ["-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"]
    synced = run("sync", "sources.toml", *settings)
    assert synced.returncode == 0, synced.stderr
    assert "1 ok" in synced.stdout
