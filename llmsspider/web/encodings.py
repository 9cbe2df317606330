"""Bytes of the web as text: byte order marks, the labels of the Encoding Standard, and what is
tried where neither says how a text is encoded.
"""

import re
from contextlib import suppress
from email.message import Message

from w3lib.encoding import resolve_encoding

BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
"""Byte order marks, and the encoding that each stands for."""

_LABELS = {
    **dict.fromkeys(("ks_c_5601-1989", "ksc_5601", "windows-949", "cseuckr"), "cp949"),
    **dict.fromkeys(("csksc56011987", "iso-ir-149"), "cp949"),
    **dict.fromkeys(("csgb2312", "gb_2312"), "gb18030"),
    **dict.fromkeys(("x-x-big5", "cn-big5"), "big5hkscs"),
    **dict.fromkeys(("iso-8859-8-i", "iso-8859-8-e", "logical", "visual"), "iso8859_8"),
    "cseucpkdfmtjapanese": "euc_jp",
    "x-mac-ukrainian": "mac_cyrillic",
    "dos-874": "cp874",
    "unicode-1-1-utf-8": "utf-8",
}
"""Labels of the Encoding Standard that w3lib does not know, and Python's decoder for them."""
_SEPARATOR = re.compile(r"(?<=[a-z])[-_ ](?=\d)")


def resolved(label: str) -> str | None:
    """Return Python's decoder for a label of the Encoding Standard, None for none of its labels.

    >>> [resolved(name) for name in ("X-SJIS", " windows-1251 ", "CP-1251", "dos-874", "klingon")]
    ['cp932', 'cp1251', 'cp1251', 'cp874', None]
    """
    plain = label.strip().lower()
    joined = _SEPARATOR.sub("", plain.removeprefix("x-"))
    names = (plain, plain.removeprefix("x-"), joined)
    return _LABELS.get(plain) or next(filter(None, map(resolve_encoding, names)), None)


def of_content_type(header: str | None) -> str | None:
    """Return Python's decoder for the charset of a Content-Type header, None where it names none.

    >>> of_content_type('text/html; Charset="X-EUC-JP"'), of_content_type("text/html")
    ('euc_jp', None)
    """
    message = Message()
    message["Content-Type"] = header or ""
    return resolved(message.get_content_charset() or "")


def by_mark(body: bytes) -> tuple[bytes, str | None]:
    """Return a body without its byte order mark, and the encoding that it stands for, or None."""
    for mark, encoding in BOMS:
        if body.startswith(mark):
            return body.removeprefix(mark), encoding
    return body, None


def decode(body: bytes, label: str | None = None) -> str:
    r"""Decode text: a byte order mark, strict UTF-8, what the label declares, then windows-1252.

    >>> decode(b"\xff\xfeG\x00\xf6\x00"), decode(b"G\xf6", "latin-1"), decode(b"\xef\xbb\xbfG")
    ('Gö', 'Gö', 'G')
    """
    body, encoding = by_mark(body)
    if encoding is not None:
        return body.decode(encoding, "replace")
    for name in ("utf-8", resolved(label) if label else None):
        with suppress(UnicodeDecodeError):
            if name is not None:
                return body.decode(name)
    return body.decode("cp1252", "replace")
