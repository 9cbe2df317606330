"""`llmsspider` and `python -m llmsspider`: one program, whose imports may be stopped as well."""

from __future__ import annotations

import sys


def main() -> int:
    """Run what was typed; returns the exit code."""
    try:
        # half a second, in which Ctrl-C is pressed too
        from llmsspider.cli import main as cli  # noqa: PLC0415
    except KeyboardInterrupt:
        return 130
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
