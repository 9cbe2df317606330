"""What a page's layout sets around its content: pagination, breadcrumbs, tags and dates below the
text.
"""

import re
from collections.abc import Iterator
from itertools import count, islice, takewhile
from operator import eq
from urllib.parse import unquote, urlsplit

from lxml.etree import XPath, _Element

from llmsspider.content.extraction import code
from llmsspider.content.extraction.parsing import Source
from llmsspider.content.extraction.rules import ASKS, CONTENTS_NAMES, Kind, Rules
from llmsspider.content.extraction.tree import (
    BLOCKS,
    CONTROLS,
    HEADINGS,
    SKIPPED,
    broken_text,
    collapsed,
    empty,
    holds,
    inner_text,
    letters_outside_links,
    plain_text,
    strings_of,
    visible,
)
from llmsspider.content.links import Joiner
from llmsspider.content.markdown.commonmark import letters_of


def without_layout(main: _Element, source: Source, joiner: Joiner, rules: Rules) -> _Element:
    """Empty pagination, breadcrumbs, placeholders and what stands below the text of `main`, and
    return it.
    """
    if b"next" in source.lowered or b"prev" in source.lowered:
        without_pagination(main)
    _clear_breadcrumbs(main, urlsplit(joiner.page).path, joiner)
    _clear_controls(main, joiner.page)
    if b">loading" in source.lowered:
        _clear_loading(main)
    if any(word in source.lowered for word in _SAY_NOTHING):
        _clear_lines_of_page(main)
    if _MARK in source.lowered:
        _clear_ways(main)
    if b"jump to" in source.lowered:
        _clear_jumps(main)
    _clear_ending(main, rules)
    _clear_contents(main, source)
    for listing in list(main.iter("pre")):
        _clear_bar(listing)
    return main


def _clear_bar(listing: _Element) -> None:
    """Empty what stands right before code and says only its language, or counts its lines."""
    bar = code.bar_of(listing)
    if bar is None:
        return
    if language := code.language_titled(bar):
        listing.set("data-language", language)
        empty(bar)
    elif bar.tag not in HEADINGS and _counts(bar):
        empty(bar)


def _counts(bar: _Element) -> bool:
    """Say whether an element counts lines: 1, 2, 3."""
    numbers = [text.strip() for text in islice(bar.itertext(), _MAX_LINES) if not text.isspace()]
    if len(numbers) == 1:
        numbers = numbers[0].split()
    first = int(numbers[0]) if len(numbers) > 1 and numbers[0].isdecimal() else 1
    return bool(numbers) and all(map(eq, numbers, map(str, count(first))))


def _clear_loading(main: _Element) -> None:
    """Empty lines that a script is to replace."""
    for element in main.iter("div", "p"):
        if not len(element) and _LOADING.fullmatch(element.text or ""):
            empty(element)


def _clear_lines_of_page(main: _Element) -> None:
    """Empty lines that say nothing but something of the page, where there are few."""
    lines = set(_lines_of_page(main))
    if len(lines) <= _MAX_LINES_OF_PAGE:
        for line in lines:
            empty(line)


def _clear_ways(main: _Element) -> None:
    """Empty lines with the way from the home page to this one."""
    for element in list(main.iter("div", "p", "ul", "ol")):
        begins = _HERE.match("".join(islice(element.itertext(), 4)))
        if begins and len(visible(element)) <= _MAX_WAY and not _CONTENT(element):
            empty(element)


def _clear_jumps(main: _Element) -> None:
    """Empty lines of links to the page's own sections."""
    for element in list(main.iter("div", "p")):
        if _JUMP.match(element.text or "") and _lists_own_sections(element, 1, _JUMP_LETTERS):
            empty(element)


def _lines_of_page(main: _Element) -> Iterator[_Element]:
    """Yield the outermost elements that say nothing but something of the page."""
    for element in main.iterdescendants():
        is_element = isinstance(element.tag, str)  # and no comment
        begins = element if is_element and _BEGINS.match(element.text or "") else None
        if begins is None and _BEGINS.match(element.tail or ""):
            begins = element.getparent()
        around = () if begins is None else (begins, *begins.iterancestors())
        inside = takewhile(lambda one: one is not main, around)
        yield from list(takewhile(_is_of_page, inside))[-1:]


def _is_of_page(element: _Element) -> bool:
    """Say whether a line tells when the page was changed, how long it takes, or asks of its use."""
    begin = "".join(islice(element.itertext(), 20))
    if len(begin) > 5 * _MAX_WAY or element.tag in HEADINGS or _CONTENT(element):
        return False
    return _OF_PAGE.fullmatch(visible(element)) is not None


def _clear_contents(main: _Element, source: Source) -> None:
    """Empty the lists of the page's own sections, with the lines that say so, and such lines alone."""
    if not any(name in source.lowered for name in _SAY_CONTENTS):
        return
    for title in list(main.iter("p", "div", "span", "strong", "b", "summary", *HEADINGS[1:])):
        if (said := _name_of_contents(title)) is None:
            continue
        below = _below(title, main)
        if below is not None and _lists_own_sections(below, 1 if " " in said else 2):
            empty(title)
            empty(below)
        elif " " in said and _is_alone(title, below):
            empty(title)


def _name_of_contents(title: _Element) -> str | None:
    """Return the name of a table of contents that is all an element says, in lower case, or None."""
    own = title.text
    if own and not own.isspace() and own.strip(" :\n").lower() not in CONTENTS_NAMES:
        return None  # without a look at what is inside: most elements end here
    texts = (text for text in title.itertext() if not text.isspace())
    said = next(texts, "").strip(" :\n").lower()
    return said if said in CONTENTS_NAMES and next(texts, None) is None else None


def _is_alone(title: _Element, below: _Element | None) -> bool:
    """Say whether a line that says what a list is has none below; headings may be of a section."""
    is_heading = title.tag in HEADINGS or holds(title, *HEADINGS)
    return not is_heading and (below is None or not holds(below, "a"))


def _below(element: _Element, main: _Element) -> _Element | None:
    """Return the element that says something right below another, however deep that stands."""
    levels = takewhile(lambda one: one is not main, (element, *element.iterancestors()))
    for level in levels:
        if (level.tail or "").strip():
            return None
        for below in level.itersiblings():
            if inner_text(below).strip():
                return below
    return None


def _lists_own_sections(block: _Element, least: int, most: int = 0) -> bool:
    hrefs = _HREFS(block)
    is_own = len(hrefs) >= least and all(href[0] == "#" for href in hrefs)
    return is_own and letters_outside_links(block) <= most


# Around the content: the way from the home page to this one above the title; dates, tags and links
# below the text.

_SAY_CONTENTS = [name.encode() for name in CONTENTS_NAMES]
_LOADING = re.compile(r"\s*+loading(?:\.\.\.|…)\s*+", re.IGNORECASE)
"""What stands in the place of something that a script is to draw."""
_SAY_NOTHING = [
    name.encode()
    for name in (
        "updated",
        "modified",
        "edited",
        "min read",
        "reading time",
        "helpful",
        "useful",
        "this page",
    )
]
_OF_PAGE = re.compile(
    r"\W*(?:(?:written by \w[^.!?]{0,40}\s)?(?:(?:page|article|was) ){0,2}(?:last )?"
    r"(?:updated|modified|edited)\b(?! by)[^.!?]{0,30}\b(?:\d{4}|ago)\b[^.!?]{0,30}"
    r"|(?:reading time\W{0,3})?\d{1,3}[ -]min(?:ute)?s? (?:to )?read"
    r"|how (?:did|was|is) this page\b[^.?!]{0,30}\?"
    r"|(?:was|is|did|do) (?:this|you)\b[^.?!]{0,40}\b(?:helpful|useful)\W{0,3}(?:(?:yes|no)\W*){0,2})\W*",
    re.IGNORECASE | re.ASCII,
)
"""The whole of a line that says when the page was changed, how long it takes, or asks of its use."""
_BEGINS = re.compile(
    r"\W*(?:last |page |article |was |updated|modified|edited|written by|reading|\d+[ -]min|how |is |did |do )",
    re.IGNORECASE | re.ASCII,
)
"""How such a line begins."""
_MAX_LINES_OF_PAGE = 3
"""Number of such lines up to which they are of the page, and not of entries."""
_MAX_LINES = 5_000
"""Number of lines of code that are counted beside it."""
_MARK = b"you are here"
_HERE = re.compile(r"\W*you are here\s*[:>›»/→]", re.IGNORECASE)
"""How a line with the way from the home page begins, wherever it stands."""
_JUMP = re.compile(r"\s*+jump to:", re.IGNORECASE)
_JUMP_LETTERS = 6
_MAX_WAY = 200  # maximum number of characters of a breadcrumb
# maximum number of letters outside links of a breadcrumb, beside the title of the page
_MAX_BESIDE = 24
_NO_CRUMBS = XPath(
    "boolean(.//h1|.//h2|.//h3|.//h4|.//h5|.//h6|.//pre|.//table|.//img|.//p|.//blockquote|.//dl)"
)
_HREFS = strings_of(".//a/@href[. != '']")
_MUTED = re.compile(r"(?:^|[\s-])(?:muted|eyebrow|kicker)")
"""Classes of small text above a title, which names a part of the site."""
_MAX_ENDINGS = 5
_MAX_DEPTH = 20
_CONTENT = XPath(
    "boolean(.//h1|.//h2|.//h3|.//h4|.//h5|.//h6|.//pre|.//table|.//img|.//blockquote|.//dl|.//li//li)"
)
_UPDATED = re.compile(
    r"\W*(?:(?:page )?(?:was )?last"
    r" (?:updated|modified|edited|changed)|updated|tags?|categor(?:y|ies))\b[^.!?]{0,40}",
    re.IGNORECASE,
)
"""The text of a date, or of the label of tags, below the text of a page."""
_OF_TAG = re.compile(r"/(?:tags?|categor(?:y|ies))(?:/[^/]*)?/?\Z", re.IGNORECASE)
_EDITS = re.compile(
    r"\W*(?:(?:edit|improve|suggest (?:an )?edits?(?: to)?) this page\b.{0,20}|edit on \w+"
    r"|suggest (?:an )?edits?|report (?:an? )?(?:issue|bug|problem) (?:with|on|about) this page)\W*",
    re.IGNORECASE,
)


def _clear_breadcrumbs(main: _Element, path: str, joiner: Joiner) -> None:
    """Empty what leads from the home page to this one, above the first `<h1>`."""
    title = next(main.iter("h1"), None)
    if title is None:
        return
    for level in takewhile(lambda one: one is not main, (title, *title.iterancestors())):
        for above in level.itersiblings("div", "nav", "ol", "ul", "span", preceding=True):
            if 0 < len(visible(above)) <= _MAX_WAY and not _NO_CRUMBS(above):
                links = [urlsplit(joiner.join(href)).path for href in _HREFS(above)]
                leads_up = links and all(
                    map(path.startswith, (f"{link.rstrip('/')}/" for link in links))
                )
                is_muted = _MUTED.search(above.get("class", ""))
                beside = letters_outside_links(above) - letters_of(plain_text(title))
                if is_muted or (leads_up and beside <= _MAX_BESIDE):
                    empty(above)


def _clear_controls(main: _Element, page: str) -> None:
    """Empty the blocks of links that do something, and of a question about the page above buttons."""
    judged = {main: False}  # each block once: the buttons of a sentence are many

    def is_emptied(block: _Element) -> bool:
        if block not in judged:
            judged[block] = _has_controls_only(block, page)
        return judged[block]

    for control in list(main.iter("a", "button")):
        if _is_control(control, page):
            blocks = list(takewhile(is_emptied, control.iterancestors()))
            if blocks or not inner_text(control).strip() or _is_apart(control):
                empty([control, *blocks][-1])


def _is_apart(control: _Element) -> bool:
    """Say whether a link stands in a heading, is all that follows a label, or has only blocks beside
    it.
    """
    around = control.getparent()
    if around is None or control.tag != "a" or (control.tail or "").strip():
        return False
    before = control.getprevious()
    above = (around.text if before is None else before.tail) or ""
    is_labelled = len(around) == 1 and above.rstrip()[-1:] == ":"
    is_alone = around.tag in {"header", "div", "section"} and not above.strip()
    beside = (before, control.getnext())
    is_alone = is_alone and all(one is None or one.tag in BLOCKS for one in beside)
    return around.tag in HEADINGS or is_labelled or is_alone


def _is_control(element: _Element, page: str) -> bool:
    """Say whether an element is a button, or a link that leads nowhere, hands the page on, edits it
    or shows its Markdown.
    """
    href = element.get("href", "")
    if element.tag == "button" or (page and page in unquote(href.partition("?")[2])):
        return True
    own = page.removesuffix(".html").rstrip("/")
    if href[1:].endswith(".md") and own.endswith(href.removesuffix(".md")):
        return True
    label = _label(element, inner_text(element))
    if _NOWHERE.match(href):
        return label.lower() in _PRESSED
    return _EDITS.fullmatch(label) is not None


def _has_controls_only(block: _Element, page: str) -> bool:
    beside = " ".join("".join(_BESIDE_CONTROLS(block)).split())
    is_question = len(beside) <= _MAX_WAY and (ASKS.search(beside) or _ORDERS.fullmatch(beside))
    has_content = any(map(str.isalnum, beside)) and not is_question
    links = list(block.iter("a"))
    return (
        not has_content
        and bool(links or is_question)
        and not _SHOWS(block)
        and all(_is_control(link, page) for link in links)
    )


def _clear_ending(main: _Element, rules: Rules) -> None:
    for _ in range(_MAX_ENDINGS):
        chain: list[_Element] = []
        level: _Element | None = main
        while len(chain) < _MAX_DEPTH and (level := _last_child(level, rules)) is not None:
            chain.append(level)
        small = list(
            takewhile(
                lambda one: len(visible(one)) <= _LONGEST and not _CONTENT(one), reversed(chain)
            )
        )
        ending = next(filter(_is_ending, reversed(small)), None)
        if ending is None:
            return
        empty(ending)


def _last_child(element: _Element, rules: Rules) -> _Element | None:
    for child in element.iterchildren(reversed=True):
        if (child.tail or "").strip():
            return None
        if (
            child.tag not in SKIPPED
            and child.tag != "script"
            and isinstance(child.tag, str)
            and rules.kind(child) is not Kind.DROP
            and (
                child.tag in {"img", "pre", "hr"}
                or any(text.strip() for text in child.itertext())
                or holds(child, "img")
            )
        ):
            return child
    return None


def _is_ending(block: _Element) -> bool:
    """Say whether a block below the text is made of dates, tags, links to edit, or cards of other
    pages.
    """
    links = [(link, broken_text(link)) for link in block.iter("a")]
    beside = " ".join("".join(_BESIDE(block)).split())
    is_dated = (
        bool(beside)
        and _UPDATED.fullmatch(beside)
        and (block.tag != "p" or block.find(".//time") is not None)
    )
    if beside and not is_dated:
        return False
    of_layout = [
        bool(_OF_TAG.search(link.get("href", "").partition("#")[0]))
        or bool(_EDITS.fullmatch(_label(link, text)))
        or _is_card(text)
        for link, text in links
    ]
    return all(of_layout) and bool(links or is_dated)


def _is_card(text: str) -> bool:
    """Say whether a link of this text is to the next or previous page, with its title on a line of
    its own.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) == 1:
        return _GLUED.match(text) is not None
    return len(lines) > 1 and any(_TURN.fullmatch(line) for line in (lines[0], lines[-1]))


# Pagination: blocks of nothing but links such as "Next" or "« previous | up | next ».

_TURN = re.compile(
    r"\W*(?:next|prev|previous)(?:\s+(?:page|chapter|section|topic|part))?\W*", re.IGNORECASE
)

_GLUED = re.compile(r"\s*(?:Next|Previous|Prev)(?=[A-Z0-9][a-z])")
"""The beginning of such a link whose parts only a style sheet sets apart."""
_PAGE_TURN = re.compile(
    r"\W*(?:(?:next|prev|previous|up)(?:\s+(?:page|chapter|section|topic|part))?\W*(?::.*)?|back"
    r" to\b.*)",
    re.IGNORECASE,
)
"""The text of a link to the next or previous page; after a colon the title of that page."""
_BACK = re.compile(r"[←«‹⟵]\s*\S.*")
_ON = re.compile(r".*\S\s*[→»›⟶]")
"""The texts of links to the pages before and after, by their arrows alone: both are needed."""
_LABELS = frozenset(
    {"next", "prev", "previous", "up", "top", "contents", "index", "home", "back", "to", "page", "chapter", "section",
     "part", "of", "table"}
)  # fmt: skip
"""Words beside links to other pages of a sequence that are not content."""
_OVERVIEW = re.compile(r"\W*(?:(?:table of )?contents|index|home)\W*", re.IGNORECASE)
"""The text of a link to a list of the pages; it counts only beside a link to the next or previous
page.
"""
_LONGEST = 400
"""Maximum length of a block of pagination in characters."""
_WORD = re.compile(r"[^\W\d_]+")
_NOWHERE = re.compile(r"#\Z|javascript:|mailto:\?", re.IGNORECASE)
_PRESSED = CONTROLS | {
    "print",
    "print page",
    "print this page",
    "share",
    "share this page",
    "select all",
    "email",
    "save",
    "yes",
    "no",
}
"""Texts of links that lead nowhere and do something."""
_ORDERS = re.compile(
    r"(?:(?:group|sort|order|filter|view|show)(?:ed)? (?:by|as)|share(?: (?:this|on|via)\b.{0,20})?)\W*",
    re.IGNORECASE,
)
"""What a choice of how a list is shown says before its buttons."""
_SHOWS = XPath("boolean(.//img | .//pre | .//table | .//code)")
_BESIDE_CONTROLS = strings_of("descendant::text()[not(ancestor::a or ancestor::button)]")
_BESIDE = strings_of("descendant::text()[not(ancestor::a)]")


def without_pagination(main: _Element) -> _Element:
    """Empty the blocks of pagination in `main`, and return `main`."""
    for link in list(main.iter("a")):
        text = broken_text(link)
        label = _label(link, text)
        if not (_PAGE_TURN.fullmatch(label) or _BACK.fullmatch(label) or _is_card(text)):
            continue
        small = takewhile(
            lambda one: one is not main and len(visible(one)) <= _LONGEST, link.iterancestors()
        )
        if blocks := list(filter(_is_pagination, small)):
            empty(blocks[-1])
    return main


def _label(link: _Element, text: str) -> str:
    """Return the text of a link, which is `text`, white space collapsed, or what stands for its
    picture.
    """
    shown = collapsed(text).strip(" \u200b")
    return shown or next((image.get("alt", "") for image in link.iter("img")), "")


def _is_pagination(block: _Element) -> bool:
    if holds(block, "h1", "h2", "h3", "h4", "pre"):
        return False
    texts = [(link, broken_text(link)) for link in block.iter("a")]
    labels = [_label(link, text) for link, text in texts]
    beside = _WORD.findall(" ".join(_BESIDE(block)).casefold())
    leads_back = any(map(_BACK.fullmatch, labels))
    turns = sum(map(_is_card, (text for _, text in texts)))
    for label in labels:
        by_arrow = leads_back and (_BACK.fullmatch(label) or _ON.fullmatch(label))
        turns += bool(_PAGE_TURN.fullmatch(label) or by_arrow)
    turns += beside.count("next") + beside.count("previous")
    turns += sum(bool(_OVERVIEW.fullmatch(label)) for label in labels) if turns else 0
    return turns >= 2 and _LABELS.issuperset(beside)
