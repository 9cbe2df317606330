"""The language of texts below the stamp of a template."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction.spoken import spoken, spoken_language
from llmsspider.items import Page, PageMeta

TEXTS = {
    "de": "Die Datei ist für den Server. Sie wird beim Start gelesen und nicht verändert, das ist mit Absicht der Fall.",
    "fr": "Le fichier est lu dans le serveur pour les pages. Vous pouvez le changer avec une commande sur la ligne des options.",
    "es": "El archivo se lee con la orden del servidor. Para las páginas es una lista por línea, y los nombres se ordenan con una opción.",
    "pt": "O arquivo é lido para uma página com os nomes do servidor. Você não precisa da opção em uma linha, se os nomes são iguais.",
    "it": "Il file che si legge non è per una riga della lista. Gli utenti di una pagina sono con il server, per una lista che non è lunga.",
    "nl": "Het bestand van de server wordt niet met een regel gelezen. Voor de pagina zijn er op het einde een paar opties, en niet meer.",
    "ja": "このファイルは、サーバーが起動するときに読み込まれます。",
    "ko": "이 파일은 서버가 시작될 때 읽습니다.",
    "zh": "服务器启动时读取该文件。",
    "ru": "Файл читается при запуске сервера.",
}


def language(text: str, declared: str | None, locale: str | None = None) -> str | None:
    meta = PageMeta(language=declared, locale=locale)
    return spoken_language(Page(markdown=text, links=[], follow=[], meta=meta))


@pytest.mark.parametrize(("tag", "text"), TEXTS.items(), ids=TEXTS)
def test_a_text_is_in_its_language_where_a_template_says_english(tag, text):
    assert spoken(text) == tag
    assert language(text, "en-US") == tag


PROSE = "The file is read by the server at each start, and this is the place for it in the tree."
ENGLISH = {
    "prose": PROSE,
    "words that other languages have": "Die los con par del es de la: the names of the options.",
    "code": f"```text\n{TEXTS['de']}\n```\n\n{PROSE}",
    "too little": "Die Datei ist für den Server.",
    "nothing": "",
    "a list of names": "- alpha\n- beta\n- gamma\n" * 20,
}


@pytest.mark.parametrize("text", ENGLISH.values(), ids=ENGLISH)
def test_a_text_stays_english(text):
    assert language(text, "en-GB") == "en-GB"


@pytest.mark.parametrize("declared", ["uk", "fr-CA", "eo", None])
def test_other_languages_stay_as_they_are_declared(declared):
    assert language(TEXTS["de"], declared) == declared


def test_what_metadata_name_counts_where_the_text_does_not_tell():
    assert language("Start.", "en", "de-DE") == "de-DE"
    assert language(PROSE, "en", "de-DE") == "en"
