"""What single elements become, and that it reads back as the same text."""

# ruff: noqa: ISC004 (a case is one line)

from __future__ import annotations

import html
import re
import textwrap
from pathlib import Path

import pytest
from fuzzing import examples
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from llmsspider.content.extraction import blocks, convert, tree, walk
from llmsspider.content.extraction.formats import escape, escape_start

URL = "https://e.org/d/p"
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def markdown(body: str) -> str:
    return convert(f"<main>{body}</main>".encode(), URL, None).markdown.removesuffix("\n")


INLINE = {
    "emphasis": ("<p>a <em>b</em> <strong>c</strong> <i>d</i><b>e</b> <del>f</del></p>", "a *b* **c** *d*<strong>e</strong> ~~f~~"),
    "emphasis with space inside": ("<p>a<b> b </b>c</p>", "a **b** c"),
    "emphasis marks would not close": ("<p><b>“x”</b>y <b>テスト。</b>次</p>", "<strong>“x”</strong>y <strong>テスト。</strong>次"),
    "code": ("<p><code>a  b</code> <code>`x`</code> <tt>*y*</tt></p>", "`a b` `` `x` `` `*y*`"),
    "link in code": ("<p><code>Vec&lt;<a href='t'>T</a>&gt;</code></p>", "`Vec<`[`T`](https://e.org/d/t)`>`"),
    "marks of code between links": ("<p><tt><span>x<i>: </i><a href='t'>T</a><i>;</i> y</span></tt></p>", "`x:` [`T`](https://e.org/d/t)`; y`"),
    "code in link": ("<p><a href='t'><code>T</code></a></p>", "[`T`](https://e.org/d/t)"),
    "keys": ("<p><kbd>Ctrl</kbd>+<kbd>C</kbd></p>", "<kbd>Ctrl</kbd>+<kbd>C</kbd>"),
    "sub and sup": ("<p>H<sub>2</sub>O x<sup>2</sup></p>", "H<sub>2</sub>O x<sup>2</sup>"),
    "line break": ("<p>a<br>b<br></p>", "a  \nb"),
    "quote": ("<p><q>x</q></p>", "“x”"),
    "image": ("<p><img src='i.png' alt='An [i]' title='T'></p>", '![An [i]](https://e.org/d/i.png "T")'),
    "image behind a placeholder": ("<p><img src='/load.gif' data-src='/i.png' alt=''></p>", "![](https://e.org/i.png)"),
    "lazy image": ("<p><img src='data:image/gif;base64,x' data-src='/i.png' alt=''></p>", "![](https://e.org/i.png)"),
    "image in link": ("<p><a href='x'><img src='i.png' alt='a'></a></p>", "[![a](https://e.org/d/i.png)](https://e.org/d/x)"),
    "picture": ("<p><picture><source srcset='i.webp'><img src='i.png' alt='a'></picture> b</p>", "![a](https://e.org/d/i.png) b"),
    "emphasis that goes on": ("<p><em>a</em><em>b</em> <b>c</b><b>d</b></p>", "*ab* **cd**"),
    "emphasis in emphasis stays apart": ("<p><em>a <i>b</i></em><em>c</em></p>", "*a *b**<em>c</em>"),
    "emphasis after a star": ("<p>int *<em>p</em>, **<b>q</b></p>", "int \\*_p_, \\*\\*__q__"),
    "autolink": ("<p><a href='https://x.org/'>https://x.org/</a></p>", "<https://x.org/>"),
    "a link behind an exclamation mark": ("<p>x :: !<a href='t'>T</a> !<code><a href='t'>U</a></code>! <a href='t'>V</a></p>", "x :: \\![T](https://e.org/d/t) \\![`U`](https://e.org/d/t)! [V](https://e.org/d/t)"),
    "brackets of several elements": ("<p><span>f</span><span>[<b>T</b>]</span><span>(x: T)</span> <i>[U]</i>(y) (z)</p>", "f[**T**]\\(x: T) *[U]*(y) (z)"),
    "a tag of several elements": ("<p><span>&lt;<i>text</i>&gt;</span> &lt; 2</p>", "\\<*text*> < 2"),
    "bad link": ("<p><a href='javascript:x()'>run</a> <a>no</a></p>", "run no"),
    "parentheses in a URL": ("<p><a href='a_(b)'>x</a> <a href='a)b'>y</a></p>", "[x](https://e.org/d/a_(b)) [y](<https://e.org/d/a)b>)"),
    "right to left": ("<p dir='rtl'>שלום <b>עולם</b></p>", "שלום **עולם**"),
    "no-break space": ("<p>a\u00a0b</p>", "a\u00a0b"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), INLINE.values(), ids=INLINE)
def test_inline(body, expected):
    assert markdown(body) == expected


BLOCKS = {
    "headings": ("<h1>A</h1><h2><a href='#b'>B</a> <a href='#b'>#</a></h2><h3></h3>", "# A\n\n## B"),
    "a heading that leads to its page": ("<h1><a href='p'>A</a></h1><h2><a href='./p#x'>B</a> <a href='q'>C</a></h2>", "# A\n\n## B [C](https://e.org/d/q)"),
    "line breaks that part paragraphs": ("<div>a<br>b<br> <br>c</div><ul><li>d<br><br>e</li></ul>", "a  \nb\n\nc\n\n- d\n\n  e"),
    "cards that a style sheet parts": ("<div><a href='a'><strong>First steps</strong>How to install it</a><a href='b'><span>Guides</span><span>Task by task, all</span></a></div>", "[**First steps** How to install it](https://e.org/d/a)\n\n[Guides Task by task, all](https://e.org/d/b)"),
    "parts of names in a link": ("<p><a href='a'><b>Java</b>Script</a> <a href='b'><span>Jar</span><span>Remap</span></a> <a href='c'><b>un</b>known to most of us</a></p>", "[**Java**Script](https://e.org/d/a) [JarRemap](https://e.org/d/b) [**un**known to most of us](https://e.org/d/c)"),
    "text in a definition list": ("<dl>Before.<dt>A</dt><br>text <code>a</code> of it<dt>B</dt><dd>b</dd></dl>", "Before.\n\nA\n: text `a` of it\n\nB\n: b"),
    "blocks behind text in a definition list": ("<dl><dt>A</dt>text<ul><li>x</li></ul>more<dt>B</dt> <dd>b</dd></dl>", "**A**\n\ntext\n\n- x\n\nmore\n\n**B**\n\nb"),
    "nested lists": ("<ul><li>a<ul><li>b<ol start='3'><li>c</li></ol></li></ul></li><li>d</li></ul>", "- a\n  - b\n    3. c\n- d"),
    "loose list": ("<ol><li><p>a</p><p>b</p></li><li><p>c</p></li></ol>", "1. a\n\n   b\n\n2. c"),
    "two lists": ("<ul><li>a</li></ul><ul><li>b</li></ul>", "- a\n\n* b"),
    "code in a list": ("<ul><li><p>a</p><pre><code class='language-sh'>x\n\n  y\n</code></pre></li></ul>", "- a\n\n  ```sh\n  x\n\n    y\n  ```"),
    "code in a quote in a list": ("<ul><li><blockquote><pre>x\ny</pre></blockquote></li></ul>", "- > ```\n  > x\n  > y\n  > ```"),
    "task list": ("<ul><li><input type='checkbox' checked> a</li><li><input type='checkbox'> b</li></ul>", "- [x] a\n- [ ] b"),
    "short definitions": ("<dl><dt>a</dt><dt>b</dt><dd>c</dd></dl>", "a\nb\n: c"),
    "long definitions": ("<dl><dt>a</dt><dd><p>b</p><pre>c</pre></dd><dt>d</dt><dd>e</dd></dl>", "**a**\n\nb\n\n```\nc\n```\n\n**d**\n\ne"),
    "nested definitions": ("<dl><dt>a</dt><dd><dl><dt>b</dt><dd>c</dd></dl></dd></dl>", "**a**\n\nb\n: c"),
    "details": ("<details><summary>S</summary>t <b>u</b></details>", "**S**\n\nt **u**"),
    "figure": ("<figure><img src='/i.png' alt='a'><figcaption>C</figcaption></figure>", "![a](https://e.org/i.png)\n\nC"),
    "rule": ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
    "card": ("<a href='x'><h3>T</h3><p>d</p></a>", "### [T](https://e.org/d/x)\n\nd"),
    "text beside blocks": ("<div>a<p>b</p>c</div>", "a\n\nb\n\nc"),
    "fence inside code": ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
    "links to the top": ("<p>a</p><p><a href='#page'><img src='up.gif' alt='top'></a></p><p><a href='#x'>Back to top</a></p>", "a"),
    "a link called so that leads on": ("<p><a href='/top'>top</a></p>", "[top](https://e.org/top)"),
    "the heading of a list that is gone": ("<p>a</p><h2>Contents</h2><div class='toc'><a href='#b'>B</a></div><h2>B</h2><p>c</p>", "a\n\n## B\n\nc"),
    "a heading with such a name": ("<h2>Contents</h2><p>one box</p>", "## Contents\n\none box"),
    "rules around nothing": ("<nav>n</nav><hr><p>a</p><hr><div class='navfooter'>x</div><hr>", "a"),
    "a term that is a listing": ("<dl><dt><pre>proc a(b: int;\n  c: int)</pre></dt><dd>d</dd></dl>", "`proc a(b: int; c: int)`\n\nd"),
    "a grid of divs": ("<div class='summary-table two-column-summary'><div>a</div><div>b</div><div>c</div><div>d</div></div>", "| a | b |\n| --- | --- |\n| c | d |"),
    "a break opportunity": ("<div>a&lt;K,<wbr>V&gt;<div>b</div></div>", "a\\<K,V>\n\nb"),
    "signs of a signature": ("<div class='memproto'>#define I(x#) <a href='#i'>#</a></div>", "`#define I(x#)`"),
    "hidden by rules": ("<p>a</p><nav>n</nav><div class='pagination'>p</div><button>b</button>", "a"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), BLOCKS.values(), ids=BLOCKS)
def test_blocks(body, expected):
    assert markdown(body) == expected


TABLES = {
    "pipes": ("<tr><th>a|b</th></tr><tr><td><code>x|y</code></td></tr>", "| a\\|b |\n| --- |\n| `x\\|y` |"),
    "no header": ("<tr><td>a</td><td>b</td></tr>", "|  |  |\n| --- | --- |\n| a | b |"),
    "spans": (
        "<tr><th>a</th><th>b</th><th>c</th></tr><tr><td rowspan=2>1</td><td colspan=2>2</td></tr><tr><td>3</td><td>4</td></tr>",
        "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 |  |\n|  | 3 | 4 |",
    ),
    "blocks in a cell": ("<tr><th>a</th></tr><tr><td><p>1</p><ul><li>2</li><li>3</li></ul></td></tr>", "| a |\n| --- |\n| 1<br>- 2<br>- 3 |"),
    "a table in a cell": (
        "<tr><th>a</th></tr><tr><td><table><tr><th>k:</th><td>1</td></tr><tr><th>l:</th><td>2</td></tr></table></td></tr>",
        "| a |\n| --- |\n| k: 1<br>l: 2 |",
    ),
    "code in a cell": ("<tr><th>a</th></tr><tr><td><pre>x\n y</pre></td></tr>", "| a |\n| --- |\n| `x`<br>` y` |"),
    "alignment": ("<tr><th style='text-align:right'>a</th><th align=center>b</th></tr>", "| a | b |\n| --: | :-: |"),
    "caption": ("<caption>C</caption><tr><th>a</th></tr><tr><td>1</td></tr>", "C\n\n| a |\n| --- |\n| 1 |"),
    "one cell is layout": ("<tr><td><h2>a</h2><p>b</p></td></tr>", "## a\n\nb"),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "expected"), TABLES.values(), ids=TABLES)
def test_tables(rows, expected):
    assert markdown(f"<table>{rows}</table>") == expected


CODE = {
    "language-": ("<pre><code class='language-rust,ignore'>x</code></pre>", "rust", "x"),
    "lang-": ("<pre class='prettyprint lang-js'>x</pre>", "js", "x"),
    "the author's word": ("<pre><code class='language-sh'>x</code></pre>", "sh", "x"),
    "pygments": ("<div class='highlight-python3 notranslate'><div class='highlight'><pre><span></span>x</pre></div></div>", "python3", "x"),
    "nbconvert": ("<div class='prompt input_prompt'>In [1]:</div><div class='jp-InputPrompt'>In [1]:</div><div class='highlight hl-python'><pre>x</pre></div>", "python", "x"),
    "pandoc": ("<pre class='sourceCode r'><code class='sourceCode r'>x</code></pre>", "r", "x"),
    "highlight.js": ("<pre><code class='hljs c++'>x</code></pre>", "c++", "x"),
    "syntaxhighlighter": ("<pre class='brush: java; gutter: false'>x</pre>", "java", "x"),
    "github": ("<div class='highlight highlight-source-shell'><pre>x</pre></div>", "shell", "x"),
    "rouge": ("<div class='language-yaml highlighter-rouge'><div class='highlight'><pre class='highlight'><code>x</code></pre></div></div>", "yaml", "x"),
    "data-lang": ("<pre><code data-lang='toml'>x</code></pre>", "toml", "x"),
    "none named": ("<pre class='highlight nohighlight'><code class='hljs'>x</code></pre>", "", "x"),
    "lines by element": ("<pre><code><span class='line'>a</span><span class='line'></span><span class='line'>  b</span></code></pre>", "", "a\n\n  b"),
    "lines by br": ("<pre>a<br>b<br/></pre>", "", "a\nb"),
    "line numbers inside": ("<pre><span class='lineno'>1 </span>a\n<span class='lineno'>2 </span>b</pre>", "", "a\nb"),
    "no-break spaces": ("<pre>if x:\n&nbsp;&nbsp;y</pre>", "", "if x:\n  y"),
    "a no-break space the author typed": ("<pre># a b\u00a0c</pre>", "", "# a b\u00a0c"),
    "prompts stay": ("<pre><span class='gp'>&gt;&gt;&gt; </span>1\n1</pre>", "", ">>> 1\n1"),
    "copy button": ("<pre>a<button>Copy</button></pre>", "", "a"),
    "first newline and last lines": ("<pre>\n  a\n\n  </pre>", "", "  a"),
}  # fmt: skip


CHROME = {
    "what a button says when it has copied": "<div class='copy-popup-wrapper popup-to-left'><span></span><span>Link copied to clipboard</span></div>",
    "a question about the page": "<h2 class='feedback--title'>Feedback</h2><p class='feedback--question'>Was this page helpful?</p>",
    "tags": "<div class='post-tags'>Tags: <a href='/tags/a'>a</a> <a href='/tags/b'>b</a></div>",
    "when the page was built": "<div class='last-modified'>Last modified: 20 October 2024</div>",
    "a link to the content": "<a href='#main' class='x:sr-only'>Skip to Content</a>",
    "where the source is": "<dl><dt class='tag-source'>Source:</dt><dd class='tag-source'><a href='w.js.html'>w.js</a></dd></dl>",
}  # fmt: skip


@pytest.mark.parametrize("chrome", CHROME.values(), ids=CHROME)
def test_chrome_named_by_a_class_is_left_out(chrome):
    assert markdown(f"<p>Wheels turn.</p>{chrome}") == "Wheels turn."


def test_links_that_skip_a_part_of_the_text_are_content():
    assert markdown("<p>Wheels. <a href='#tyres'>Skip to tyres</a> with mounted ones.</p>") == (
        "Wheels. [Skip to tyres](https://e.org/d/p#tyres) with mounted ones."
    )


def test_what_is_said_of_dates_is_content():
    text = "Pages that were modified in the last year have a mark, and those that were not are old."
    assert text in markdown(f"<p>a</p><p class='last-modified'>{text}</p>")


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ("<span>Wheel</span><span>A mill of wheels</span>", "# Wheel A mill of wheels"),
        ("<span>wheel</span><span>(axle: int, tyre)</span>", "# wheel(axle: int, tyre)"),
        ("<span>W</span><span>h</span><span>eel</span>", "# Wheel"),
        ("<span>re</span>wind <span>the wheel</span>", "# rewind the wheel"),
    ],
)
def test_lines_of_a_heading_are_parted(spans, expected):
    assert markdown(f"<h1>{spans}</h1><p>Text.</p>").split("\n")[0] == expected


def test_a_page_that_is_a_table_of_contents_keeps_it():
    items = "".join(
        f"<li class='level2 toc nav-node'><a href='/d/{n}'>Part {n}</a></li>" for n in range(9)
    )
    text = markdown(f"<main><h1>Table of Content</h1><ul class='toc nav-list'>{items}</ul></main>")
    assert text.count("](https://e.org/d/") == 9


def test_tags_with_descriptions_are_content():
    text = "A wheel is what turns a mill, a mill is what grinds the corn."
    assert text in markdown(
        f"<p>a</p><div class='tag-list'><p>{text}</p><p><a href='/a'>a</a></p></div>"
    )


@pytest.mark.parametrize(("body", "language", "text"), CODE.values(), ids=CODE)
def test_code(body, language, text):
    token = READER.parse(markdown(body))[0]
    assert (
        (token.type, token.info, token.content) == ("fence", language, text + "\n")
        if "," not in token.info
        else (token.info.split(",")[0] == language)
    )


MATH = {
    "mathml": ("<p>a <math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x_1</annotation></semantics></math></p>", "a $x_1$"),
    "mathml block": ("<math display='block' alttext='\\frac{a}{b}'><mi>x</mi></math>", "$$\n\\frac{a}{b}\n$$"),
    "katex": (
        "<p><span class='katex'><span class='katex-mathml'><math><semantics><annotation encoding='application/x-tex'>a*b</annotation>"
        "</semantics></math></span><span class='katex-html' aria-hidden='true'>a∗b</span></span> c</p>",
        "$a*b$ c",
    ),
    "mathjax 2": ("<p>a <span class='MathJax_Preview'>x</span><script type='math/tex'>y^2</script></p>", "a $y^2$"),
    "mathjax 2 block": ("<div><script type='math/tex; mode=display'>y_2</script></div>", "$$\ny_2\n$$"),
    "class": ("<p><span class='math notranslate'>\\(a_b\\)</span></p>", "$a_b$"),
    "delimiters in text": ("<p>so \\(a_1 * b_2\\) holds</p><script src='MathJax.js'></script>", "so $a_1 * b_2$ holds"),
    "image": ("<p><img class='math' alt='x^2' src='m.png'></p>", "$x^2$"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), MATH.values(), ids=MATH)
def test_math(body, expected):
    assert markdown(body) == expected


ADMONITIONS = {
    "sphinx": ("<div class='admonition tip'><p class='admonition-title'>Tip</p><p>x</p></div>", "> [!TIP]\n> x"),
    "own title": ("<div class='admonition warning'><p class='admonition-title'>Mind</p><p>x</p></div>", "> [!WARNING]\n> **Mind**\n>\n> x"),
    "bootstrap": ("<div class='alert alert-danger'>x</div>", "> [!DANGER]\n> x"),
    "bare class": ("<div class='note'><p>x</p></div>", "> [!NOTE]\n> x"),
    "with code": ("<aside class='callout caution'><pre>x\n\ny</pre></aside>", "> [!CAUTION]\n> ```\n> x\n>\n> y\n> ```"),
    "no admonition": ("<div class='alert-box'><p>x</p></div>", "x"),
    "details drawn as an alert": ("<details class='details_x alert alert--info'><summary>S</summary><p>x</p></details>", "**S**\n\nx"),
    "plain quote": ("<blockquote><p>x</p></blockquote>", "> x"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), ADMONITIONS.values(), ids=ADMONITIONS)
def test_admonitions(body, expected):
    assert markdown(body) == expected


NOTES = {
    "goldmark": (
        "<p>a<sup id='fnref:1'><a href='#fn:1' class='footnote-ref' role='doc-noteref'>1</a></sup></p><div class='footnotes' role='doc-endnotes'>"
        "<hr><ol><li id='fn:1'><p>n <a href='#fnref:1' class='footnote-backref'>↩︎</a></p><p>m</p></li></ol></div>",
        "a[^1]\n\n[^1]: n\n\n    m",
    ),
    "docutils": (
        "<p>a <a class='footnote-reference' href='#a' id='r1'>[1]</a> <a class='footnote-reference' href='#b' id='r2'>[2]</a></p>"
        "<table class='docutils footnote' id='a'><tr><td class='label'>[1]</td><td><em>(<a class='fn-backref' href='#r1'>1</a>, "
        "<a class='fn-backref' href='#r1'>2</a>)</em> n</td></tr></table><table class='docutils footnote' id='b'><tr>"
        "<td class='label'><a class='fn-backref' href='#r2'>[2]</a></td><td><p><em>m</em></p><p>o</p></td></tr></table>",
        "a [^1] [^2]\n\n[^1]: n\n\n[^2]: *m*\n\n    o",
    ),
    "a sup that is no note": ("<p>a<sup><a href='#x'>2</a></sup></p>", "a<sup>[2](https://e.org/d/p#x)</sup>"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), NOTES.values(), ids=NOTES)
def test_footnotes(body, expected):
    assert markdown(body) == expected


ESCAPES = [
    "snake_case __init__ _a_ a_b_", "2*3*4 * x **y**", "a < b <b> </p> <!-- x --> Vec<T>", "`tick` ``two``", "[a](b) [a][b] x[0] [^1]",
    "&amp; &lt; &#35; AT&T R&D", "~~x~~ ~5", "C:\\path\\*x* \\", "# no heading", "#tag", "1. one", "12) two", "- item", "+ item", "* item",
    "> quote", "---", "===", "***", "___", "[x]: y", "[ ] task", "~~~ x", "a | b", "!", "$x$", "http://a_b.c/d_e_", ": def", "-", "1.",
]  # fmt: skip


@pytest.mark.parametrize("text", ESCAPES)
def test_escapes_read_back(text):
    assert read_back(escape_start(escape(text))) == text


def test_plain_text_is_not_escaped():
    assert (
        escape("snake_case, a * b, C# & D, x[0] (y) 1. #2 R&D!")
        == "snake_case, a * b, C# & D, x[0] (y) 1. #2 R&D!"
    )


@examples(400)
@given(st.text(alphabet="ab1 _*`~[]()<>&;#!|\\-+.=:$x^/", min_size=1, max_size=30))
def test_any_text_reads_back(text):
    text = " ".join(text.split())
    body = text.replace("&", "&amp;").replace("<", "&lt;")
    for wrapped, lead in (
        ("<p>{}</p>", ""),
        ("<ul><li>{}</li></ul>", "- "),
        ("<h2>{}</h2>", "## "),
    ):
        result = markdown(wrapped.format(body))
        assert text == "" or result.startswith(lead)
        assert read_back(result) == text


def read_back(source: str) -> str:
    inline = [token for token in READER.parse(source) if token.type == "inline"]
    assert len(inline) <= 1
    children = inline[0].children if inline else []
    assert {child.type for child in children} <= {"text", "text_special"}
    return "".join(child.content for child in children)


printable = st.text(
    st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=20
).map(lambda text: " ".join(text.split()))


@examples(200)
@given(printable)
def test_text_of_any_script_reads_back(text):
    assert read_back(markdown(f"<p>{html.escape(text)}</p>")) == text


@examples(200)
@given(
    st.text("ab1 _*`~[]()<>&;#!|\\\\-+.=:$^/", min_size=1, max_size=20),
    st.text("ab1 _*`~[]()<>&;#!|\\\\-+.=:$^/", min_size=1, max_size=20),
)
@example("\\|", "a\\")
@example("[`", "[")
@example("]:", "x")
def test_cells_links_and_code_read_back(one, two):
    one, two = " ".join(one.split()) or "x", " ".join(two.split()) or "y"
    first, second = html.escape(one), html.escape(two)
    cells = [
        token.content if not token.children else "".join(child.content for child in token.children)
        for token in READER.parse(
            markdown(
                f"<table><tr><th>A</th><th>B</th></tr><tr><td>{first}</td><td>{second}</td></tr></table>"
            )
        )
        if token.type == "inline"
    ]
    assert cells == ["A", "B", one, two]
    (link,) = [
        token
        for token in READER.parse(markdown(f"<p><a href='/x'>{first}</a></p>"))
        if token.type == "inline"
    ]
    assert link.children[0].attrs == {"href": "https://e.org/x"}
    assert "".join(child.content for child in link.children) == one
    (code,) = [
        token
        for token in READER.parse(markdown(f"<p>x <code>{first}</code></p>"))
        if token.type == "inline"
    ]
    assert [child.content for child in code.children] == ["x ", one]
    (block,) = READER.parse(markdown(f"<pre>{first}\n  {second}</pre>"))
    assert block.content == f"{one}\n  {two}\n"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        pytest.param("<ul>Oak<li>Elm</li>Ash</ul>", "- Oak\n- Elm\n- Ash\n", id="text in a list"),
        pytest.param(
            "<ul><li>Oak</li><b>Elm</b></ul>", "- Oak\n- **Elm**\n", id="inline element in a list"
        ),
        pytest.param(
            "<ul><li>Oak</li><a href='/e'>Elm</a></ul>",
            "- [Elm](https://e.org/e)\n",
            id="link in a list",
        ),
        pytest.param("<ol>Oak<li>Elm</li></ol>", "1. Oak\n2. Elm\n", id="text in a numbered list"),
        pytest.param("<p>Oak</br>Elm</p>", "Oak  \nElm\n", id="closed break"),
        pytest.param(
            "<p><code>a</code><code>b</code> c</p>", "`a` `b` c\n", id="adjacent code spans"
        ),
        pytest.param(
            "<p><code>a</code> <code>b</code></p>",
            "`a` `b`\n",
            id="code spans with a space between",
        ),
        pytest.param(
            "<details><summary><h3>Axles</h3></summary><p>Text.</p></details>",
            "### Axles\n\nText.\n",
            id="summary",
        ),
        pytest.param(
            "<dl><dt><h4>turn()</h4></dt><dd><p>Turns.</p></dd></dl>",
            "#### turn()\n\nTurns.\n",
            id="dt",
        ),
        pytest.param(
            "<h3><button>Axles</button></h3><p>Text.</p>",
            "### Axles\n\nText.\n",
            id="button in a heading",
        ),
        pytest.param(
            "<button><h3>Axles</h3></button><p>Text.</p>",
            "### Axles\n\nText.\n",
            id="heading in a button",
        ),
        pytest.param(
            '<pre class="latex">\\frac{a}{b}</pre>', "\\frac{a}{b}\n", id="code called latex"
        ),
        pytest.param(
            '<p>Set with <span class="latex">LaTeX</span>.</p>',
            "Set with LaTeX.\n",
            id="the word LaTeX",
        ),
        pytest.param(
            '<p><span class="latex">x^2</span></p>', "$x^2$\n", id="a formula called latex"
        ),
    ],
)
def test_markup_that_browsers_show_all_the_same(html, expected):
    body = f"<html><body><main><h1>Wood</h1>{html}</main></body></html>".encode()
    assert expected in convert(body, "https://e.org/", "utf-8").markdown


def test_a_tag_with_a_converter_of_blocks_is_a_block_or_has_one_for_lines_too():
    assert set(walk.BLOCK_TAGS) <= tree.BLOCKS | set(walk.INLINE_TAGS)
    assert set(walk.AROUND_BLOCKS) <= tree.INLINE
    assert not tree.BLOCKS & tree.INLINE


def test_the_converter_that_the_docs_show(monkeypatch):
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "extending.md").read_text(
        encoding="utf-8"
    )
    (example,) = re.findall(
        r"```python\n *\"\"\"llmsspider/content/extraction/blocks\.py\"\"\"\n(.*?)```",
        text,
        re.DOTALL,
    )
    body = "<p>Files:</p><file-tree>src/\n  a.py</file-tree><p>That is all.</p>"
    assert markdown(body) == "Files:\n\nsrc/ a.py\n\nThat is all."
    monkeypatch.setattr(tree, "BLOCKS", tree.BLOCKS | {"file-tree"})
    monkeypatch.setitem(walk.BLOCK_TAGS, "file-tree", None)
    walk._roles_for.cache_clear()
    exec(textwrap.dedent(example), vars(blocks).copy())
    assert markdown(body) == "Files:\n\n```\nsrc/\n  a.py\n```\n\nThat is all."
    walk._roles_for.cache_clear()
