"""What leaves a crawl: feeds, exports, chunks, the knowledge graph, the mirror, the status of a
source.

In: the store, documents. Out: files that are complete or not there. Extensions, pipelines and
commands import it. Here: text of strangers on its way to a terminal, a log file or a spreadsheet is
shown, and never acted on.
"""

import logging
import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and line feed, and those that turn the direction of writing."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that spreadsheets calculate
(https://owasp.org/www-community/attacks/CSV_Injection).
"""


def printable(text: str) -> str:
    r"""Return a text with its control characters written out.

    >>> printable("\x1b[2J\ttitle")
    '\\x1b[2J\ttitle'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def without_formula(cell: object) -> object:
    """Return the value of a CSV cell; a text that a spreadsheet would calculate gets an apostrophe
    in front.

    >>> without_formula("=1+1"), without_formula(-1)
    ("'=1+1", -1)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


class PrintableFilter(logging.Filter):
    """Write out the control characters of the records of a handler: headers and errors hold text of
    the site.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every record."""
        message = record.getMessage()
        if _CONTROL.search(message):
            record.msg = printable(message)
            record.args = None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = printable(record.exc_text)
        return True
