"""`python -m llmsspider`: the same as the command `llmsspider`."""

from __future__ import annotations

import sys

from llmsspider.cli import main

if __name__ == "__main__":
    sys.exit(main())
