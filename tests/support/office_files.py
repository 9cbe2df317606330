"""Small files of Word, PowerPoint, Excel and EPUB, made part by part."""

from __future__ import annotations

import io
import zipfile

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_MAIN = "application/vnd.openxmlformats-officedocument"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def packed(parts: dict[str, str]) -> bytes:
    """The parts as a zip file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in parts.items():
            made.writestr(name, text)
    return file.getvalue()


def _relations(**targets: str) -> str:
    made = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{target.partition(" ")[0]}" Target="{target.partition(" ")[2]}"/>'
        for name, target in targets.items()
    )
    return f'{_HEAD}<Relationships xmlns="{_RELATIONS}">{made}</Relationships>'


def _types(**parts: str) -> str:
    made = "".join(
        f'<Override PartName="{name}" ContentType="{_MAIN}.{kind}+xml"/>'
        for name, kind in parts.items()
    )
    return (
        f'{_HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{made}</Types>'
    )


def word(*blocks: str) -> bytes:
    """A Word document: `# heading`, `- item`, `a | b` a row of a table, else a paragraph."""
    made = ""
    rows = ""
    for block in (*blocks, ""):
        if " | " in block:
            cells = block.split(" | ")
            rows += f"<w:tr>{''.join(f'<w:tc>{_paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"
            continue
        made += f"<w:tbl>{rows}</w:tbl>" if rows else ""
        rows = ""
        if block.startswith("# "):
            made += _paragraph(block[2:], '<w:pStyle w:val="Heading1"/>')
        elif block.startswith("- "):
            made += _paragraph(block[2:], '<w:pStyle w:val="ListBullet"/>')
        elif block:
            made += _paragraph(block)
    styles = (
        '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="ListBullet"><w:name w:val="List Bullet"/>'
        '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    numbering = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:pStyle w:val="ListBullet"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    return packed(
        {
            "[Content_Types].xml": _types(
                **{"/word/document.xml": "wordprocessingml.document.main"}
            ),
            "_rels/.rels": _relations(r1="officeDocument word/document.xml"),
            "word/_rels/document.xml.rels": _relations(
                r1="styles styles.xml", r2="numbering numbering.xml"
            ),
            "word/document.xml": f'{_HEAD}<w:document xmlns:w="{_WORD}"><w:body>{made}</w:body></w:document>',
            "word/styles.xml": f'{_HEAD}<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
            "word/numbering.xml": f'{_HEAD}<w:numbering xmlns:w="{_WORD}">{numbering}</w:numbering>',
        }
    )


def _paragraph(text: str, properties: str = "") -> str:
    style = f"<w:pPr>{properties}</w:pPr>" if properties else ""
    return f"<w:p>{style}<w:r><w:t>{text}</w:t></w:r></w:p>"


def slides(*texts: tuple[str, str]) -> bytes:
    """A PowerPoint file with a slide for each title and text."""
    names = [f"slide{number}" for number in range(1, len(texts) + 1)]
    parts = {
        "[Content_Types].xml": _types(
            **{"/ppt/presentation.xml": "presentationml.presentation.main"},
            **{f"/ppt/slides/{name}.xml": "presentationml.slide" for name in names},
        ),
        "_rels/.rels": _relations(r1="officeDocument ppt/presentation.xml"),
        "ppt/_rels/presentation.xml.rels": _relations(
            **{name: f"slide slides/{name}.xml" for name in names}
        ),
        "ppt/presentation.xml": (
            f'{_HEAD}<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_OFFICE}"><p:sldIdLst>'
            + "".join(
                f'<p:sldId id="{256 + number}" r:id="{name}"/>' for number, name in enumerate(names)
            )
            + "</p:sldIdLst></p:presentation>"
        ),
    }
    for name, (title, text) in zip(names, texts, strict=True):
        shapes = _shape(title, '<p:ph type="title"/>') + _shape(text, '<p:ph idx="1"/>')
        parts[f"ppt/slides/{name}.xml"] = (
            f'{_HEAD}<p:sld xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'
        )
    return packed(parts)


def _shape(text: str, place: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="Shape"/><p:cNvSpPr/><p:nvPr>{place}</p:nvPr></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def sheet(name: str, *rows: tuple[str | int, ...]) -> bytes:
    """An Excel file with one sheet."""
    made = ""
    for number, row in enumerate(rows, 1):
        cells = ""
        for letter, value in zip("ABCDEF", row, strict=False):
            place = f"{letter}{number}"
            cells += (
                f'<c r="{place}"><v>{value}</v></c>'
                if isinstance(value, int)
                else f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
            )
        made += f'<row r="{number}">{cells}</row>'
    return packed(
        {
            "[Content_Types].xml": _types(
                **{
                    "/xl/workbook.xml": "spreadsheetml.sheet.main",
                    "/xl/worksheets/sheet1.xml": "spreadsheetml.worksheet",
                }
            ),
            "_rels/.rels": _relations(r1="officeDocument xl/workbook.xml"),
            "xl/_rels/workbook.xml.rels": _relations(r1="worksheet worksheets/sheet1.xml"),
            "xl/workbook.xml": (
                f'{_HEAD}<workbook xmlns="{_SHEETS}" xmlns:r="{_OFFICE}"><sheets>'
                f'<sheet name="{name}" sheetId="1" r:id="r1"/></sheets></workbook>'
            ),
            "xl/worksheets/sheet1.xml": f'{_HEAD}<worksheet xmlns="{_SHEETS}"><sheetData>{made}</sheetData></worksheet>',
        }
    )


def book(title: str, *chapters: str) -> bytes:
    """An EPUB with a chapter for each piece of XHTML."""
    names = [f"c{number}" for number in range(1, len(chapters) + 1)]
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in names
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": (
            f'{_HEAD}<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
        ),
        "book.opf": (
            f'{_HEAD}<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">x</dc:identifier>'
            f"<dc:title>{title}</dc:title><dc:language>en</dc:language></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
        ),
    }
    for name, chapter in zip(names, chapters, strict=True):
        parts[f"{name}.xhtml"] = (
            f'{_HEAD}<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{name}</title></head><body>{chapter}</body></html>'
        )
    return packed(parts)


def pdf(markdown: str) -> bytes:
    """A PDF of a text."""
    from pdf_oxide import Pdf

    return bytes(Pdf.from_markdown(markdown).to_bytes())
