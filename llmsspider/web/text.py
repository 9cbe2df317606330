"""Text that every encoding, and what XML, can hold. Pure."""

import re

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_AS_TEXT = {0: "\ufffd", 11: " ", 12: " ", 133: " "}
"""Control characters that leave something in their place; others leave nothing."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def valid_text(text: str) -> str:
    r"""Return text that every encoding can hold, without control characters: halves of a character
    that belong together become it, a lone half becomes U+FFFD, as does NUL; tabs and line ends
    stay.

    >>> valid_text("a\ud800b"), valid_text("\ud83d\ude00"), valid_text("a\0b\x1b[0m\x0cc")
    ('a�b', '😀', 'a�b[0m c')
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub(lambda found: _AS_TEXT.get(ord(found[0]), ""), text)


def valid(value: object) -> object:
    """Return a value of lists, mappings and scalars with every text in it made valid."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {valid(name): valid(one) for name, one in value.items()}
    if isinstance(value, list):
        return [valid(one) for one in value]
    return value


def xml_text(text: str) -> str:
    r"""Return text without the characters that XML 1.0 has no form for (section 2.2).

    >>> xml_text("a\x1bb\tc")
    'ab\tc'
    """
    return _NO_XML.sub("", text)
