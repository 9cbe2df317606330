"""The Markdown tree: a folder that holds one file for each stored page and is kept in step with the store.

The parts:

    manifest    which files of the folder are ours       page_file   one page as a file
    linkmap     which page a link leads to               contents    index.md
    syncing     what is written, removed, left alone
"""

from llmsspider.mirror.manifest import STORE_FOLDER, folder_for, folder_problem, read_manifest
from llmsspider.mirror.syncing import MirrorReport, sync

__all__ = ["STORE_FOLDER", "MirrorReport", "folder_for", "folder_problem", "read_manifest", "sync"]
