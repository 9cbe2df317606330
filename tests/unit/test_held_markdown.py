"""Pages that hold their Markdown for a script to render."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction import convert

URL = "https://e.com/a/"
STRAPDOWN = """<title>T</title><xmp theme='united' style='display:none;'>
# Hi

<b>x</b> [b](b.md)

```html
<p>1</p>
```
</xmp><script src='strapdown.js'></script>"""
SCRIPT = """<zero-md><script type='text/markdown'>
   # Md

   Text.
</script></zero-md><script src='zero-md.js'></script>"""
PAGES = {
    "Strapdown": (
        STRAPDOWN,
        "# Hi\n\n<b>x</b> [b](https://e.com/a/b.md)\n\n```html\n<p>1</p>\n```\n",
    ),
    "a script": (SCRIPT, "# Md\n\nText.\n"),
}


@pytest.mark.parametrize(("body", "expected"), PAGES.values(), ids=PAGES)
def test_the_markdown_is_taken(body, expected):
    page = convert(f"<!doctype html><html>{body}</html>".encode(), URL, None)
    assert page.markdown == expected
    assert not page.meta.is_shell
    assert page.meta.title == expected.partition("\n")[0].removeprefix("# ")


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Form</h1><p>{'What the page says. ' * 20}</p><textarea theme='united'># Mine</textarea><script>1</script>",
        "<h1>Form</h1><textarea theme='united'># Mine</textarea>",
        "<h1>Form</h1><textarea name='comment'># Mine</textarea><script>1</script>",
        "<h1>Form</h1><script type='text/markdown'># Mine",
    ],
    ids=["a page of its own", "no script", "a form", "no end"],
)
def test_other_pages_are_read_as_html(body):
    assert "# Mine" not in convert(body.encode(), URL, None).markdown
