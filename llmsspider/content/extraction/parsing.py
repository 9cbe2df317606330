"""The single parse of a page, bytes to lxml tree: encoding, limit of depth, and searches of the raw
bytes.
"""

import re
from codecs import getincrementaldecoder
from dataclasses import dataclass
from functools import cached_property
from html import escape

from ahocorasick_rs import BytesAhoCorasick, Implementation
from lxml.etree import (
    ErrorTypes,
    HTMLParser,
    ParserError,
    XMLSyntaxError,
    XPath,
    _Element,
    fromstring,
    iterwalk,
)
from selectolax.lexbor import LexborHTMLParser

from llmsspider.content.extraction.generators import GENERATORS
from llmsspider.content.extraction.shown import is_streamed, show
from llmsspider.content.extraction.tree import holds, settable
from llmsspider.web.encodings import by_mark, resolved

# The byte strings that extraction looks for in pages, in lower case. All are found in one pass
# (Aho-Corasick): 30 KB take 60 µs, a search for a single string that is not there 15 µs.

TAGS = (b'"tag', b"'tag", b"=tag", b'tag"', b"tag'", b" tag ")
"""How a word `tag` stands in the value of an attribute."""
LINKS = (b"<area", b"<frame")
CONTROLS = (
    b"aria-controls", b"data-target", b"data-bs-target", b"data-toggle-target", b"popovertarget", b"commandfor",
)  # fmt: skip
"""Attributes by which a control names what it opens."""
SWITCHES = (b"data-toggle", b"data-bs-toggle", b"aria-expanded")
"""Attributes of links that open what they lead to, as the role of a tab is."""
ELEMENTS = (
    b"<template", b"<dialog", b"<noembed", b"<noframes", b"<audio", b"<canvas", b"<video", b"<object", b"<progress",
    b"<meter",
)  # fmt: skip
STYLES = tuple(b"style" + sign for sign in (b"=", b" ", b"\t", b"\n", b"\r", b"\f", b"\v"))
"""How an attribute `style` begins."""
_BREAKS = (b"<wbr", b"</br")
_WORDS = (
    b"hidden", b"aria-hidden", b"popover", b"aria-label", b"<img",
    b"math", b"katex", b"mjx", b"arithmatex", b"mathjax", b"footnote", b"noteref", b"#fn", b"tablist",
    b"nav-tabs", b"nav-pills", b"sidenote", b"marginnote", b"indextable",
    b"#cite_note", b"[1]", b">1</a></sup>", b"role", b"data-ea-publisher",
    b"swagger", b"redoc", b"rapi-doc", b"rapidoc", b"openapi", b"elements-api", b"api-reference",
    b"createapireference",
    b"#/", b"#!", b"data-llmsspider-route",
    b"zero-md", b"md-block", b"wc-markdown", b"<xmp", b"text/markdown", b"text/x-markdown", b"<textarea",
    b"flex", b"docfx:", b"sidebar_items", b"menudata",
)  # fmt: skip

GENERATOR_MARKS: dict[bytes, tuple[str, ...]] = {}
"""The names of the generators that have a mark."""
for _generator in GENERATORS:
    for _mark in _generator.marks:
        _key = _mark.lower().encode()
        GENERATOR_MARKS[_key] = (*GENERATOR_MARKS.get(_key, ()), _generator.name)


def words_of(css: str) -> tuple[str, ...]:
    """Return the words of a selector that every page it matches contains, as the selector spells
    them.
    """
    return tuple(re.findall(r"[.#=]['\"]?([\w-]+)", css) or [re.split(r"[\s>\[:]", css)[-1]])


_SELECTOR_WORDS = {
    word.lower().encode()
    for generator in GENERATORS
    for css in generator.main
    for word in words_of(css)
    if len(word) >= 8
    and not (word.isalpha() and word.islower())  # others may be any word of the text
}
_NAMES = (*TAGS, *LINKS, *CONTROLS, *SWITCHES, *ELEMENTS, *STYLES, *_BREAKS, *_WORDS)
KNOWN = frozenset({*_NAMES, *GENERATOR_MARKS, *_SELECTOR_WORDS})
"""All byte strings that are searched for."""
MARKS = tuple(sorted(KNOWN))
_SEARCHER = BytesAhoCorasick(MARKS, implementation=Implementation.DFA)


def marks_in(lowered: bytes) -> frozenset[bytes]:
    """Return those of `MARKS` that stand in the bytes of a page, in lower case."""
    numbers = {found[0] for found in _SEARCHER.find_matches_as_indexes(lowered, overlapping=True)}
    return frozenset([MARKS[number] for number in numbers])


# The charset of East Asian text that declares none, by its commonest letters: Shift_JIS, EUC, GBK
# or Big5. Only used if the bytes are not UTF-8 and neither header nor page names a charset. Text of
# each language is for the most part a few hundred letters; bytes read by the wrong charset give
# rare ones.

CHARSETS = ("cp932", "euc_jp", "cp949", "gb18030", "big5hkscs")
"""Python's names of the charsets that are recognised, each the superset that browsers read."""
ALPHABETS = {
    "cp1255": frozenset(map(chr, range(0x5D0, 0x5EB))),
    "cp1253": frozenset(map(chr, range(0x3AC, 0x3CF))) - {"\u03b0"},
    "cp1251": frozenset(map(chr, range(0x430, 0x450))),
    "koi8_r": frozenset(map(chr, range(0x430, 0x450))),
}
"""Charsets of scripts whose words have no ASCII letters, and the small letters of each; those that
leave more bytes undefined come first.
"""
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_WORD = re.compile(rb"[\xc0-\xff]{4,}")
_FEWEST = 12  # minimum number of non-ASCII letters for a result
_LOOKED_AT = 65_536  # number of bytes that are examined
_TAGS = re.compile(rb"<[^<>]*>")
_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同"
    "现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很"
    "最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义"
    "各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科"
    "司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运"
    "码文件使用页面接口函数参数返回值类型配置安装默认输入错误字符串示例说明选项版本编译执行数据库对象方法创建删除修改查询服务器客户端"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作里用道行所然家種事成方多經麼去法學如都同"
    "現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很"
    "最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義"
    "各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科"
    "碼檔案使用頁面介面函式參數返回值類型設定安裝預設輸入錯誤字串範例說明選項版本編譯執行資料庫物件方法建立刪除修改查詢伺服器用戶端網路程式"
)
_MARKS = "、。，「」（）：；！？・ー"
_JAPANESE = frozenset([*map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FB))), *_MARKS])
_COMMON = {
    "cp932": (_JAPANESE, 0.3),
    "euc_jp": (_JAPANESE, 0.3),
    "cp949": (frozenset(map(chr, range(0xAC00, 0xD7A4))), 0.45),
    "gb18030": (frozenset(_SIMPLIFIED + _MARKS), 0.45),
    "big5hkscs": (frozenset(_TRADITIONAL + _MARKS), 0.45),
    **{name: (letters, 0.6) for name, letters in ALPHABETS.items()},
}
"""The common letters of a charset, and the minimum share (0 to 1) of non-ASCII letters that must be
such.
"""


def undeclared_charset(body: bytes) -> str | None:
    """Return the one of `CHARSETS` or `ALPHABETS` that `body` is encoded in; None if it is none of
    them, or `body` is too short.

    >>> undeclared_charset("これは車輪についての説明です。".encode("euc_jp"))
    'euc_jp'
    """
    sample = _TAGS.sub(b" ", body[:_LOOKED_AT])
    high = len(_HIGH.findall(sample))
    in_words = sum(map(len, _HIGH_WORD.findall(sample)))
    names = (*CHARSETS, *ALPHABETS) if 2 * in_words > high else CHARSETS
    scores = {name: _score(sample, name) for name in names} if high else {}
    best = max(scores, key=scores.__getitem__, default=None)
    return best if best and scores[best] >= 1 else None


def _score(sample: bytes, charset: str) -> float:
    """Return the share of common letters among the non-ASCII ones, 1 for the least share; 0 if not
    decodable.
    """
    try:
        # which ignores a cut character at the end
        text = getincrementaldecoder(charset)().decode(sample)
    except UnicodeDecodeError:
        return 0.0
    letters = [letter for letter in text if not letter.isascii() and not letter.isspace()]
    common, least = _COMMON[charset]
    return (
        sum(map(common.__contains__, letters)) / len(letters) / least
        if len(letters) >= _FEWEST
        else 0.0
    )


# Bytes to an lxml tree: the one parse a page gets.

MAX_DEPTH = 160
"""Maximum depth of the tree; deeper elements become siblings, as in browsers from level 512 on."""
_DEEPEST = XPath("/*" * MAX_DEPTH)
_MISNESTED = ("Opening and ending tag mismatch", "Unexpected end tag : a")
"""What libxml2 says of end tags that it reads in another way than the HTML standard."""
_MISPLACED = XPath("boolean(//p//div)")
_MISPLACED_IN_TABLE = XPath(
    "boolean(//table/*[self::p or self::pre or self::div or self::td]"
    " | //td[not(parent::tr)] | //tr[not(parent::table or parent::tbody or parent::thead or"
    " parent::tfoot)] | //tr/*[not(self::td or self::th or self::script or self::template)]"
    " | //*[self::table or self::tbody or self::tr]/text()[normalize-space()])"
)
"""Elements where the HTML standard puts none, of which libxml2 logs nothing; half of the time is
saved where there is no table.
"""

_BREAK = re.compile(rb"<(?:wbr\s*+|(/br)\s*+)/?>", re.IGNORECASE)
_META_CHARSET = re.compile(
    rb"<meta[^<>]+charset\s*+=\s*+[\"']?+\s*+([A-Za-z0-9_.:-]+)", re.IGNORECASE
)
_HIDDEN_TEXT = re.compile(
    rb"<(a|span)\b[^<>]{0,500}?\bdata-cfemail=[\"']([0-9a-fA-F]{4,1000})[\"'][^<>]{0,500}>[^<>]{0,100}</\1>"
)
_HIDDEN_LINK = b"/cdn-cgi/l/email-protection#"
_HIDDEN_TARGET = re.compile(_HIDDEN_LINK + rb"([0-9a-fA-F]{4,1000})")
_EMPTY = b"<html><body></body></html>"
_XML_ENCODING = re.compile(
    rb"""\s{0,9}<\?xml\s[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w.:-]{1,40})"""
)
_ASCII_BASED = re.compile(
    r"utf-?8|windows-(?:125\d|874)|cp125\d|iso-?8859-\d{1,2}|latin-?1|(?:us-)?ascii|koi8-[ru]|shift[_-]jis"
    r"|euc-(?:jp|kr)|gb2312|gbk|gb18030|big5"
)
"""Encodings in which ASCII text has the bytes of ASCII: no escape sequences or shift states."""
_MULTIBYTE = re.compile(
    rb"[\xc2-\xf4](?:(?<=[\xc2-\xdf])[\x80-\xbf]|(?<=[\xe0-\xef])[\x80-\xbf]{2}|(?<=[\xf0-\xf4])[\x80-\xbf]{3})"
)
"""A letter beyond ASCII in UTF-8.

One class of all first bytes at the beginning takes a fifth of the time.
"""
_THREE_BYTES = re.compile(rb"[\xe1-\xef][\x80-\xbf]{2}")
"""A letter of UTF-8 that two bytes of East Asian charsets do not make by chance."""
_LONG_TAG = 4_096  # bytes up to which a tag is not looked at
# maximum number of attributes of a long tag: libxml2 takes time by their square
_MAX_ATTRIBUTES = 1_000
_TAG = re.compile(rb"<[A-Za-z][^>=]*+(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')?+[^>=]*+)*+")
_ATTRIBUTES = re.compile(
    rb"<(?:[^\s>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?+\s*+|=){%d}" % _MAX_ATTRIBUTES
)


@dataclass(frozen=True)
class Source:
    """The bytes of a page as they are parsed, and the encoding that they are parsed in."""

    body: bytes
    encoding: str

    @cached_property
    def lowered(self) -> bytes:
        """The bytes in lower case."""
        return self.body.lower()

    @cached_property
    def shows_names(self) -> bool:
        """True if names of the tree appear literally in the bytes: the encoding is based on ASCII."""
        return bool(_ASCII_BASED.fullmatch(self.encoding))

    @cached_property
    def marks(self) -> frozenset[bytes]:
        """Those of `MARKS` that the bytes contain; all of them if `shows_names` is False."""
        return marks_in(self.lowered) if self.shows_names else KNOWN

    def may_hold(self, *names: bytes) -> bool:
        """Return False if no tag, attribute or class in the tree holds one of `names`, of `MARKS`,
        as written.
        """
        if not KNOWN.issuperset(names):
            raise KeyError(names)
        return not self.marks.isdisjoint(names)

    def may_name(self, attribute: str) -> bool:
        """Return False if no element of the tree has an attribute of this name, given in lower
        case.
        """
        name = attribute.encode()
        return not self.shows_names or name in (self.marks if name in KNOWN else self.lowered)


def read_source(body: bytes, encoding: str | None) -> Source:
    """Return `body` ready to be parsed, its encoding chosen as browsers do (HTML standard,
    13.2.3.2).

    BOM, `encoding` (the HTTP header's), `<meta charset>` in the first 4 KiB, UTF-8 where the body
    is valid, what `undeclared_charset` finds, else windows-1252. Between UTF-8 and windows-1252 the
    bytes decide.
    """
    body, name = _decode_choice(body, encoding)
    body = _with_addresses(body)
    source = Source(body, name)
    if source.may_hold(*_BREAKS):
        # libxml2 puts all that follows into a <wbr>; </br> is a <br> (HTML standard, 13.2.6.4.7).
        body = _BREAK.sub(lambda found: b"<br>" if found[1] else b"", body)
    if _may_hold_long_tag(body):
        body = _TAG.sub(lambda tag: (_ATTRIBUTES.match(tag[0]) or tag)[0], body)
    return source if body is source.body else Source(body, name)


def _with_addresses(body: bytes) -> bytes:
    """Return a page with the addresses as they were before Cloudflare hid them, whatever it took
    for one: in code, too.
    """
    if b"data-cfemail" in body:
        body = _HIDDEN_TEXT.sub(lambda found: _address(found[2]), body)
    if _HIDDEN_LINK in body:
        body = _HIDDEN_TARGET.sub(lambda found: b"mailto:" + _address(found[1]), body)
    return body


def _address(hidden: bytes) -> bytes:
    """Return an address as HTML: its first byte, in hexadecimal, is the key of the others."""
    key, *letters = bytes.fromhex(hidden.decode()[: len(hidden) // 2 * 2])
    text = bytes(letter ^ key for letter in letters).decode("utf-8", "replace")
    return escape(text).encode()


def _may_hold_long_tag(body: bytes) -> bool:
    """Return False if certainly no tag is much longer than `_LONG_TAG`: a `>` outside of quotes
    ends each in time.
    """
    position = 0
    while position + _LONG_TAG < len(body):
        end = body.rfind(b">", position, position + _LONG_TAG)
        if end < 0:
            return True
        for quote in (b'"', b"'"):
            before = body.rfind(quote, position, end)
            if before > 9 and body[before - 9 : before].rstrip()[-1:] in {
                b"=",
                b"",
            }:  # it may open a value
                return True
        position = end + 1
    return False


def parse(source: Source) -> _Element:
    """Parse a page into a tree whose root is `<html>`; bad HTML never raises."""
    root = _tree(source)
    for slot in root.iter("template") if b"<template #title" in source.body else ():
        slot.tag = "strong" if "#title" in slot.attrib else slot.tag  # Vue draws it (Retype)
    for element in _DEEPEST(root):
        if len(element):
            _flatten(element)
    show(root, source.body)
    return root


def _tree(source: Source) -> _Element:
    """Return the tree as the HTML standard builds it (13.2.6); a deep one as libxml2 does."""
    for candidate in (source.encoding, "utf-8"):
        try:
            root, is_misnested = _read(source.body or _EMPTY, candidate)
            if is_misnested and not _DEEPEST(root):  # lexbor takes time by the square of the depth
                html = LexborHTMLParser(source.body.decode(candidate, "replace")).html or ""
                root, _ = _read(html.encode("utf-8", "replace"), "utf-8")
        except (
            LookupError,
            ValueError,
            ParserError,
            XMLSyntaxError,
        ):  # a name with control characters, too
            continue
        return root
    return fromstring(_EMPTY, HTMLParser())


def _read(body: bytes, encoding: str) -> tuple[_Element, bool]:
    """Return the tree that libxml2 builds, and whether the HTML standard has another for it."""
    parser = HTMLParser(
        encoding=encoding,
        remove_comments=not is_streamed(body),
        remove_pis=True,
        huge_tree=True,
    )
    root = fromstring(body, parser)
    if root is None:
        raise ValueError("no element")
    mismatches = parser.error_log.filter_types([ErrorTypes.ERR_TAG_NAME_MISMATCH])
    is_misnested = any(error.message.startswith(_MISNESTED) for error in mismatches)
    is_in_parts = next(root.itersiblings("html"), None) is not None  # text below `</html>`
    return root, is_misnested or is_in_parts or _is_misplaced(root)


def _is_misplaced(root: _Element) -> bool:
    has_table = holds(root, "table", "tr", "td")
    return bool(_MISPLACED(root) or (has_table and _MISPLACED_IN_TABLE(root)))


def _flatten(element: _Element) -> None:
    """Replace the descendants of `element` by copies without children, side by side; the text keeps
    its order.
    """
    last: _Element | None = None
    made: list[_Element] = []
    for event, inner in iterwalk(element, events=("start", "end")):
        if inner is element:
            continue
        if event == "start":
            last = element.makeelement(inner.tag, dict(inner.attrib))
            last.text = settable(inner.text)
            made.append(last)
        elif last is not None and inner.tail:
            last.tail = settable((last.tail or "") + inner.tail)
    text = element.text
    element[:] = made
    element.text = text


def _decode_choice(body: bytes, encoding: str | None) -> tuple[bytes, str]:
    """Return the body in UTF-8, whatever it came in; what is damaged is U+FFFD, nothing is cut."""
    body, label = by_mark(body)
    name = _charset(body, label or encoding or _declared(body))
    if name != "utf-8":
        body = _as_utf8(body, name)
    elif not _is_utf8(body):
        body = _as_utf8(body, _charset_in_place_of_utf8(body))
    return body.replace(b"\0", b""), "utf-8"


def _charset(body: bytes, label: str | None) -> str:
    """Return the decoder of a body by the label that it has, or else by its bytes."""
    if label is None:
        name = "utf-8" if _is_mostly_utf8(body) else undeclared_charset(body) or "cp1252"
    else:
        name = resolved(label) or "utf-8"
    if name.startswith("utf-16") and b"\0" not in body:
        return "utf-8"  # the tags of UTF-16 have zeros
    may_be_utf8 = name == "cp1252" or (name in CHARSETS and _THREE_BYTES.search(body))
    return "utf-8" if may_be_utf8 and _is_utf8(body) else name


def _charset_in_place_of_utf8(body: bytes) -> str:
    """Return the encoding of a body that is said to be UTF-8, and is not or is damaged."""
    declared = resolved(_declared(body) or "")
    is_other = declared not in {None, "utf-8"} and not _is_mostly_utf8(body)
    if _MULTIBYTE.search(body) and not is_other:
        return "utf-8"
    return declared or undeclared_charset(body) or "cp1252"


def _declared(body: bytes) -> str | None:
    """Return the label that the page declares; one of UTF-16 is read as UTF-8 (HTML standard,
    13.2.3.2): it could not be read otherwise.
    """
    found = _META_CHARSET.search(body, 0, 4096) or _XML_ENCODING.match(body, 0, 1024)
    if found is None:
        return None
    label = found[1].decode("ascii").lower()
    return "utf-8" if label.startswith("utf-16") else label


def _is_mostly_utf8(body: bytes) -> bool:
    """Return whether a body is UTF-8 but for a few damaged bytes."""
    if _is_utf8(body):
        return True
    sample = body[:_LOOKED_AT]
    damaged = sample.decode("utf-8", "replace").count("\ufffd")
    return 10 * damaged < len(_MULTIBYTE.findall(sample))


def _is_utf8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _as_utf8(body: bytes, encoding: str) -> bytes:
    try:
        return body.decode(encoding, "replace" if encoding != "euc_jp" else "strict").encode()
    except UnicodeDecodeError:  # letters of vendors, which the narrow table lacks
        return body.decode("euc_jis_2004", "replace").encode()
