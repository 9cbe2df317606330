"""Charsets that are said, and the bytes that say otherwise."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction import convert
from llmsspider.content.extraction.parsing import undeclared_charset
from llmsspider.web.encodings import of_content_type

URL = "https://example.com/a.html"
TEXT = "<html><body><main><h1>Caf\u00e9</h1><p>na\u00efve r\u00e9sum\u00e9 \u20ac</p></main></body></html>"
CASES = {
    "utf-8, so labelled": (TEXT.encode(), "utf-8"),
    "utf-8, labelled as latin-1": (TEXT.encode(), "iso-8859-1"),
    "utf-8, labelled as windows-1252": (TEXT.encode(), "windows-1252"),
    "utf-8, not labelled": (TEXT.encode(), None),
    "windows-1252, so labelled": (TEXT.encode("cp1252"), "windows-1252"),
    "windows-1252, labelled as utf-8": (TEXT.encode("cp1252"), "utf-8"),
    "windows-1252, not labelled": (TEXT.encode("cp1252"), None),
    "utf-16": (TEXT.encode("utf-16"), None),
    "utf-8, labelled as utf-16": (TEXT.encode(), "utf-16"),
    "a NUL in the middle": (TEXT.replace("<p>", "\0<p>").encode(), "utf-8"),
    "an unknown label": (TEXT.encode(), "klingon"),
}


@pytest.mark.parametrize(("body", "label"), CASES.values(), ids=CASES)
def test_the_text_is_read_right(body: bytes, label: str | None) -> None:
    page = convert(body, URL, label)
    assert page.markdown == "# Caf\u00e9\n\nna\u00efve r\u00e9sum\u00e9 \u20ac\n"


def test_every_label_of_the_standard_is_read_in_a_header() -> None:
    assert of_content_type("text/html; charset=x-euc-jp") == "euc_jp"
    assert of_content_type("text/html; charset=x-cp1250") == "cp1250"
    assert of_content_type("text/html; charset=iso-8859-8-i") == "iso8859_8"
    assert of_content_type("text/html; charset=klingon") is None
    assert of_content_type("text/html; charset") is None
    assert of_content_type(None) is None


JAPANESE = "この関数は、指定されたファイルを読み込み、その内容を文字列として返します。"
KOREAN = "이 함수는 지정된 파일을 읽어 그 내용을 문자열로 반환합니다."
SIMPLIFIED = "该函数读取指定的文件，并将其内容作为字符串返回。如果发生错误，则抛出异常。"
TRADITIONAL = "此函式讀取指定的檔案，並將其內容以字串傳回。如果發生錯誤，就會擲出例外。"
EAST_ASIAN = [
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
    (KOREAN, "euc_kr"),
    (SIMPLIFIED, "gbk"),
    (TRADITIONAL, "big5"),
]
ALPHABETS = [
    ("Эта функция читает указанный файл и возвращает его содержимое в виде строки.", "cp1251"),
    ("Эта функция читает указанный файл и возвращает его содержимое в виде строки.", "koi8-r"),
    ("Αυτή η συνάρτηση διαβάζει το αρχείο και επιστρέφει το περιεχόμενό του.", "cp1253"),
    ("הפונקציה קוראת את הקובץ ומחזירה את התוכן שלו כמחרוזת", "cp1255"),
]
ELSEWHERE = [
    (
        "L'été, les élèves ont étudié à l'école où le maître répète ; ça a été très agréable.",
        "cp1252",
    ),
    (
        "Größe, Übung, Straße, für, können, müssen, während, schön, Mädchen, weiß, über, grün.",
        "cp1252",
    ),
    (
        "Ta funkcja odczytuje plik i zwraca jego zawartość. Zażółć gęślą jaźń, proszę źródło",
        "cp1250",
    ),
]


@pytest.mark.parametrize(("text", "charset"), EAST_ASIAN)
def test_east_asian_text_that_declares_no_charset_is_read_right(text: str, charset: str) -> None:
    around = (
        f"<html><body><h1>API</h1><p>{text}</p><pre>f(x)</pre></body></html>" + "<!-- x -->" * 50
    )
    assert text in convert(around.encode(charset), URL, None).markdown
    assert text not in convert(around.encode(charset), URL, "iso-8859-1").markdown, (
        "what is declared counts"
    )


@pytest.mark.parametrize("header", [None, "utf-8"])
@pytest.mark.parametrize(("text", "charset"), ALPHABETS)
def test_text_of_another_alphabet_is_read_right(text: str, charset: str, header) -> None:
    page = f"<html><body><h1>API</h1><p>{text}</p><p>English words.</p></body></html>"
    body = page.encode(charset)
    assert text in convert(body, URL, header).markdown
    assert text not in convert(body, URL, "iso-8859-1").markdown, "what is declared counts"


def test_the_page_counts_where_the_header_cannot_be_right() -> None:
    body = page_of("Café, Straße und žluťoučký", "windows-1250").encode("cp1250")
    assert "žluťoučký" in convert(body, URL, "utf-8").markdown


@pytest.mark.parametrize(("text", "charset"), ELSEWHERE)
def test_text_of_other_scripts_is_not_taken_for_it(text: str, charset: str) -> None:
    assert undeclared_charset(text.encode(charset)) is None


def test_any_bytes_and_a_letter_cut_in_two() -> None:
    assert undeclared_charset(bytes(range(128, 256)) * 40) is None
    assert undeclared_charset((JAPANESE * 3000).encode("shift_jis")[1:-1]) in {None, "cp932"}
    body = ("a" + JAPANESE * 3000).encode("euc_jp")
    assert undeclared_charset(body) == "euc_jp"


def test_one_broken_letter_does_not_turn_the_rest_into_another_charset() -> None:
    body = TEXT.encode().replace("na\u00ef".encode(), b"na\xef")
    page = convert(body, URL, "utf-8")
    assert page.meta.title == "Caf\u00e9"


VENDOR = [
    ("gb2312", "朱镕基", "gbk", "安装说明与配置文件"),
    ("gb2312", "😀", "gb18030", "安装说明与配置文件"),
    ("shift_jis", "①㈱", "cp932", "日本語の説明書です"),
    ("x-sjis", "①", "cp932", "日本語の説明書です"),
    ("euc-jp", "①", "euc_jis_2004", "日本語の説明書です"),
    ("euc-kr", "똠방각하", "cp949", "설치 안내와 설정 파일"),
    ("ks_c_5601-1987", "똠", "cp949", "설치 안내와 설정 파일"),
    ("big5", "着", "big5hkscs", "安裝說明與設定檔案"),
    ("x-gbk", "镕", "gbk", "安装说明与配置文件"),
]


def page_of(text: str, label: str | None) -> str:
    meta = f"<meta charset={label}>" if label else ""
    return f"<html><head>{meta}</head><body><main><h1>T</h1><p>{text}</p><a href='/x'>x</a></main></body></html>"


@pytest.mark.parametrize("by_header", [True, False], ids=["header", "meta"])
@pytest.mark.parametrize(("label", "vendor", "codec", "after"), VENDOR)
def test_a_letter_that_the_narrow_table_lacks_cuts_nothing(label, vendor, codec, after, by_header):
    body = page_of(f"{vendor} {after}", None if by_header else label).encode(codec)
    page = convert(body, URL, label if by_header else None)
    assert vendor in page.markdown
    assert after in page.markdown
    assert page.follow == ["https://example.com/x"]


@pytest.mark.parametrize(
    "label", ["utf-8", "gb2312", "shift_jis", "euc-jp", "euc-kr", "big5", "windows-1252", None]
)
def test_a_damaged_byte_cuts_nothing(label):
    codec = label or "utf-8"
    text = {"windows-1252": "naïve résumé"}.get(codec, "説明" if codec != "euc-kr" else "설명")
    text = {"gb2312": "说明", "big5": "說明"}.get(codec, text)
    body = (
        page_of(f"{text} BROKEN {text} after {text * 9}", None)
        .encode(codec)
        .replace(b"BROKEN", b"\xff\x20")
    )
    page = convert(body, URL, label)
    assert page.markdown.count(text) == 11
    assert "after" in page.markdown
    assert page.follow == ["https://example.com/x"]


def test_a_page_knows_better_than_a_header_of_utf8():
    body = page_of("中文文档说明我们使用这个程序", "gb2312").encode("gb2312")
    assert "中文文档说明我们使用这个程序" in convert(body, URL, "utf-8").markdown


def test_a_page_that_calls_itself_utf16_in_ascii_is_utf8():
    assert "説明" in convert(page_of("説明", "utf-16").encode(), URL, None).markdown


def test_the_encoding_of_an_xml_declaration_counts():
    head = '<?xml version="1.0" encoding="windows-1251"?>'
    assert (
        "Описание"
        in convert((head + page_of("Описание", None)).encode("cp1251"), URL, None).markdown
    )
