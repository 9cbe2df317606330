"""What stands inside pages: words, code and formulas, by the shapes that real pages write them in."""

# ruff: noqa: ISC004 (a line of HTML is one line)

import pytest

from llmsspider.content.extraction import convert

URL = "https://docs.example.com/guide/page"
MATH = "<math>{}</math>"


def inside(fragment: str) -> str:
    """The Markdown of a fragment between two paragraphs."""
    page = (
        "<!doctype html><html><title>Kettle</title><body><main><h1>Kettle</h1>"
        f"<p>A paragraph of a number of words comes first.</p>{fragment}"
        "<p>Another paragraph of words comes last.</p></main></body></html>"
    )
    text = convert(page.encode(), URL, "utf-8").markdown
    return text.partition("first.\n\n")[2].rpartition("\n\nAnother")[0]


WORDS = {
    "a button is a word": ("<p>The <button>lid</button> opens.</p>", "The lid opens."),
    "a cell holds a button": (
        "<table><tr><th>Key<th>Use<tr><td><button>Boil</button><td>Heats</table>",
        "| Key | Use |\n| --- | --- |\n| Boil | Heats |",
    ),
    "a button to copy is none": ("<p>Run it. <button>Copy</button></p>", "Run it."),
    "buttons alone are none": ("<ul><li><button>Open all</button></li><li>x</li></ul>", "- x"),
    "a menu is named": (
        "<p>Lids</p><div><label>Group by: <select><option>A</select></label></div>",
        "Lids",
    ),
    "the name before a menu": ("<p>a</p><label>Sort:</label><select><option>A</select>", "a"),
    "a label of words": ("<p>a <label>lid</label></p>", "a lid"),
    "a picture that prints": (
        "<a href='javascript:window.print()'><img src='p.gif' alt='Print this page'></a><p>a</p>",
        "a",
    ),
    "a picture that folds": (
        "<h2><img src='t.gif' alt='Toggle'> Lids</h2><p>a</p>",
        "## Lids\n\na",
    ),
    "the way to the page": (
        "<p>You are here: <a href='/'>Home</a> › <a href='/guide'>Guide</a></p><p>a</p>",
        "a",
    ),
    "a sentence of the way": (
        "<p>You are here to learn of <a href='/lids'>lids</a>.</p>",
        "You are here to learn of [lids](https://docs.example.com/lids).",
    ),
    "text in a table": ("<table>lids<tr><td>a</table>", "lids\n\na"),
    "ruby": ("<p><ruby>湯<rp>(</rp><rt>ゆ</rt><rp>)</rp></ruby>を</p>", "湯(ゆ)を"),
    "ruby without brackets": ("<p><ruby>湯<rt>ゆ</rt></ruby>を</p>", "湯(ゆ)を"),
    "struck blocks": (
        "<del><p>Gone <b>now</b>.</p><ul><li>Too</li></ul></del>",
        "~~Gone **now**.~~\n\n- ~~Too~~",
    ),
    "emphasis in emphasis": ("<p>a <em><em>b</em></em></p>", "a *b*"),
    "bold beside bold": ("<p><b>on</b><span><b>off</b></span> x</p>", "**onoff** x"),
    "bold in bold, at its end": ("<p><b>a <b>c</b></b></p>", "**a **c****"),
    "bold in bold, at its beginning": ("<p><b><b>a</b> c</b></p>", "****a** c**"),
    "a space that does not break beside emphasis": ("<p>a<i>\xa0b</i>c</p>", "a\xa0*b*c"),
    "a window of its own": (
        "<p><a href='/x'>Lid (opens in a new window)</a></p>",
        "[Lid](https://docs.example.com/x)",
    ),
    "an icon of a window": (
        "<p><a href='http://a.net/'>Lid<img src='w.svg' alt='(opens in new tab)'></a></p>",
        "[Lid](http://a.net/)",
    ),
    "a link about windows": (
        "<p><a href='/x'>Open a new window</a></p>",
        "[Open a new window](https://docs.example.com/x)",
    ),
    "items that are empty": ("<ol><li>a</li><li></li><li>c</li></ol>", "1. a\n2.\n3. c"),
    "numbers that count down": ("<ol reversed><li>a</li><li>b</li></ol>", "2. a\n1. b"),
    "a break in an item": ("<ul><li>a</li><li><hr></li></ul>", "- a\n- ***"),
    "four stars in code": ("<p><code>a****b</code> <b>c</b></p>", "`a****b` **c**"),
    "one space in code": ("<p>a <code> </code> b <code>c </code></p>", "a ` ` b `c `"),
    "padded code": ("<p>a <code> c </code> b</p>", "a `c` b"),
    "a note shown on a tap": (
        '<p>It boils.<span>1<span class="footnoteContent" style="display:none">At sea.</span></span></p>',
        "It boils.1 (At sea.)",
    ),
    "a note in the margin": (
        '<p>It boils.<span class="sidenote">At <i>sea</i> level.</span> Then</p>',
        "It boils. (At *sea* level.) Then",
    ),
    "name and type, in a heading": (
        '<h4><div><span class="a">size</span><span class="b">litre</span></div></h4><p>x</p>',
        "#### size litre\n\nx",
    ),
    "name and types, in a term": (
        "<dl><dt><code>size</code><span>litre</span><span>needed</span></dt><dd>x</dd></dl>",
        "`size` litre needed\n: x",
    ),
    "a row of boxes": (
        '<div><b>size</b><span class="t">litre</span><p>Of water.</p></div>',
        "**size** litre\n\nOf water.",
    ),
    "a word in two": ('<p><span class="d">T</span><span>his</span> is.</p>', "This is."),
    "a badge": ("<h3>boil()<span class='badge new'>old</span></h3><p>x</p>", "### boil() old\n\nx"),
    "a badge behind a name": (
        "<h3><code>boil()</code><span class='badge'>old</span></h3><p>x</p>",
        "### `boil()` old\n\nx",
    ),
    "a badge with a space of its own": (
        "<h3><span>Tea</span><span class='label-append'>\xa0</span>boil</h3><p>x</p>",
        "### Tea\xa0boil\n\nx",
    ),
    "a number before a heading": (
        "<h2><span class='n'>2.1</span><span>Lids</span></h2><p>x</p>",
        "## 2.1 Lids\n\nx",
    ),
    "a permalink with words that are hidden": (
        "<h2 id='lids'>Lids<a href='#lids'><span class='visually-hidden'>Link to it</span>#</a></h2><p>x</p>",
        "## Lids\n\nx",
    ),
    "a button of a site's own": ("<p>a</p><clipboard-copy>Copy</clipboard-copy>", "a"),
    "marks that are drawn in cells": (
        "<table><tr><th>Lid<th>Fits<tr><td>a<td><svg aria-label=No></svg><tr><td>b<svg aria-label=x></svg><td><svg><title>Yes</title></svg></table>",
        "| Lid | Fits |\n| --- | --- |\n| a | No |\n| b | Yes |",
    ),
    "a list of the page's sections": (
        "<p>a</p><p>On this page:</p><ul><li><a href='#b'>B</a><li><a href='#c'>C</a></ul><h2 id=b>B</h2><p>x</p>",
        "a\n\n## B\n\nx",
    ),
    "a list of sections in boxes": (
        "<div><h3>Table of contents</h3></div><div><ol><li><a href='#b'>B</a><li><a href='#c'>C</a></ol></div><p>x</p>",
        "x",
    ),
    "the name of a list that is gone": ("<p><b>Table of contents</b></p><p>x</p>", "x"),
    "a box that begins with the name of a list": (
        "<div>\n<p>Contents</p>\n\n<p>Tea.</p></div><ul><li><a href='#b'>B</a><li><a href='#c'>C</a></ul>",
        "Contents\n\nTea.\n\n- [B](https://docs.example.com/guide/page#b)\n- [C](https://docs.example.com/guide/page#c)",
    ),
    "a list of other pages": (
        "<p>In this article</p><ul><li><a href='/b'>B</a></ul>",
        "In this article\n\n- [B](https://docs.example.com/b)",
    ),
    "a list that says more than sections": (
        "<p>Contents:</p><ul><li><a href='#b'>B</a> of tin<li><a href='#c'>C</a></ul>",
        "Contents:\n\n- [B](https://docs.example.com/guide/page#b) of tin\n- [C](https://docs.example.com/guide/page#c)",
    ),
    "headings by their role": (
        "<div role='heading' aria-level='2'>Lids</div><p>x</p><p role='heading' aria-level='9'>y</p>",
        "## Lids\n\nx\n\ny",
    ),
    "a table that sets out a table": (
        "<table><tr><td><table><tr><th>a<tr><td>1</table></table>",
        "| a |\n| --- |\n| 1 |",
    ),
    "tabs without roles": (
        "<ul class='nav nav-tabs'><li><a data-toggle='tab' href='#a'>Gas</a><li><a data-toggle='tab' href='#b'>Oil</a></ul>"
        "<div><div id=a><p>Blue.</p></div><div id=b><p>Brown.</p></div></div>",
        "**Gas**\n\nBlue.\n\n**Oil**\n\nBrown.",
    ),
    "a heading in two": ("<h2><b>Java</b>Script</h2><p>x</p>", "## **Java**Script\n\nx"),
    "a number and what it counts": (
        "<div><span>42</span><span>kettles</span></div>",
        "42 kettles",
    ),
    "a share and what it is of": (
        "<ul><li><b>99.9%</b><span>boiled</span></ul>",
        "- **99.9%** boiled",
    ),
    "a card of a note": ("<div class='notecard note'><p>Hot.</p></div>", "> [!NOTE]\n> Hot."),
    "a question above faces": (
        "<div><p>How did this page work for you?</p><button>☺</button></div><p>a</p>",
        "a",
    ),
    "two letters behind a number": (
        "<div><span>3</span><span>rd</span></div>",
        "3rd",
    ),
    "a label and its value": (
        "<div><span class=k>Lid:</span><span class=v>steel</span></div>",
        "Lid: steel",
    ),
    "a bold label right before its text": (
        "<p><b>Note:</b>The lid is hot.</p>",
        "**Note:** The lid is hot.",
    ),
    "a name with a colon in it": (
        "<p><b>xs:</b>element</p>",
        "<strong>xs:</strong>element",
    ),
    "who is quoted": (
        "<blockquote><cite>ann wrote:</cite>The lid is hot.</blockquote>",
        "> ann wrote: The lid is hot.",
    ),
    "a method and its path": (
        "<div><span class=m>GET</span><span class=p>/lids/{id}</span></div>",
        "GET /lids/{id}",
    ),
    "words in a row": (
        "<div class='flex gap-2'><div>lid</div><div>string</div><div>required</div></div>",
        "lid string required",
    ),
    "words in a column": (
        "<div class='flex flex-col'><div>lid</div><div>string</div></div>",
        "lid\n\nstring",
    ),
    "a link that only a script follows": (
        "<p>Open <a href='#'>the lid</a> now.</p>",
        "Open the lid now.",
    ),
    "a link to the source": (
        "<h2>Lid <a class=source_link href=lid.ml>Source</a></h2><p>x</p>",
        "## Lid\n\nx",
    ),
    "what is shown when pointed at": (
        "<p>The <span>lid<span role=tooltip>It closes.</span></span> is hot.</p>",
        "The lid is hot.",
    ),
    "a sign that it can be opened": (
        "<details><summary><span>Lids</span><span>↕</span></summary><p>x</p></details>",
        "**Lids**\n\nx",
    ),
    "a note that only scripts hide": (
        "<noscript><pre>boil()</pre></noscript>",
        "```\nboil()\n```",
    ),
    "faded in by a script": (
        "<div style='visibility:hidden;animation-name:none'><p>The lid is hot.</p></div>",
        "The lid is hot.",
    ),
    "the page's date": (
        "<p>Last updated: 3 March 2024</p><p>Lids were updated in 2024 by hand.</p>",
        "Lids were updated in 2024 by hand.",
    ),
    "the time it takes": (
        "<div>4 min read</div><p>a</p>",
        "a",
    ),
    "a question of the site": (
        "<p>Did you find it helpful?<span>Yes</span><span>No</span></p><p>a</p>",
        "a",
    ),
    "a link to report": (
        "<p><a href=/issues/new>Report an issue with this page</a></p><p>a</p>",
        "a",
    ),
    "links to share": (
        "<div><span>Share:</span><a href='https://x.org/?u=https://docs.example.com/guide/page'>X</a></div><p>a</p>",
        "a",
    ),
    "contents that are folded": (
        "<details><summary>Table of contents</summary><ul><li><a href=#a>Lids</a></ul></details><h2 id=a>Lids</h2><p>x</p>",
        "## Lids\n\nx",
    ),
    "contents in a line": (
        "<p>Jump to: <a href=#a>Lids</a> | <a href=#b>Oil</a></p><h2 id=a>Lids</h2><p>x</p>",
        "## Lids\n\nx",
    ),
    "bullets by hand": (
        "<p>• Gas</p><p>• Oil</p>",
        "- Gas\n- Oil",
    ),
    "one bullet by hand": (
        "<p>• Gas</p><p>Oil</p>",
        "• Gas\n\nOil",
    ),
    "items in lists of their own": (
        "<ol class=n><li>Gas</ol><ol class=n start=2><li>Oil</ol><ul class=b><li>a</ul><ul class=b><li>b</ul>",
        "1. Gas\n2. Oil\n\n- a\n- b",
    ),
    "drawn check boxes": (
        "<ul><li><span role=checkbox aria-checked=true></span> Gas<li><div class='checkbox checkbox-off'></div> Oil</ul>",
        "- [x] Gas\n- [ ] Oil",
    ),
    "a mark in a cell": (
        "<table><tr><th>Gas<th>Oil<tr><td>Lid<td><i class=x aria-label=No></i></table>",
        "| Gas | Oil |\n| --- | --- |\n| Lid | No |",
    ),
    "a page set in a table with a heading": (
        "<table><tr><th><h1>Lids</h1><tr><td><p>x</p></table>",
        "# Lids\n\nx",
    ),
    "a panel that several tabs open": (
        "<div role=tablist><button role=tab aria-controls=p>All</button><button role=tab aria-controls=p>Hot</button></div><div role=tabpanel id=p><p>x</p></div>",
        "x",
    ),
    "an admonition by two classes": (
        "<blockquote class='gd-hint warning'><div class=gd-hint__title>Warning</div><p>Hot.</p></blockquote>",
        "> [!WARNING]\n> Hot.",
    ),
    "an admonition whose first line names it": (
        "<div class=NOTE><p>Note</p><p>Hot.</p></div>",
        "> [!NOTE]\n> Hot.",
    ),
    "a signature in an API": (
        "<div class=main-signature><span>def </span>lid[A](f: A): B</div><p>x</p>",
        "def lid[A\\](f: A): B\n\nx",
    ),
    "notes by links that lead to each other": (
        "<p>Hot.<a href=#n id=r>[1]</a></p><div><p><a id=n href=#r>[1]</a> Very.</p></div>",
        "Hot.[^1]\n\n[^1]: Very.",
    ),
    "notes whose number is in a box": (
        "<p>Hot<sup><a href=#fn__1 id=fnt__1>1)</a></sup>.</p><div><sup><a href=#fnt__1 id=fn__1>1)</a></sup> <div>Very.</div></div>",
        "Hot[^1].\n\n[^1]: Very.",
    ),
    "notes that lead back to the number above the line": (
        "<p>Hot<sup id=r><a href=#n>1</a></sup>.</p><aside id=n><a href=#r>↩</a> Very.</aside>",
        "Hot[^1].\n\n[^1]: Very.",
    ),
    "numbers of sections that lead to each other": (
        "<ul><li><a id=c href=#s>1</a> Lids</li></ul><div id=s><h2>Lids</h2><p><a href=#c>1</a> Hot.</p></div>",
        "- [1](https://docs.example.com/guide/page#s) Lids\n\n## Lids\n\n[1](https://docs.example.com/guide/page#c) Hot.",
    ),
    "words of several kinds in a paragraph": (
        "<p><strong>lid</strong><em>string</em></p>",
        "**lid** *string*",
    ),
    "two sentences in a cell": (
        "<table><tr><th>Lid<tr><td><span>It is hot.</span><span>Always</span></table>",
        "| Lid |\n| --- |\n| It is hot. Always |",
    ),
    "bold paragraphs": (
        "<strong><p>Hot.</p><p>Very.</p></strong>",
        "**Hot.**\n\n**Very.**",
    ),
    "a link for readers without scripts": (
        "<p>a</p><noscript><a href=/gist>See the code</a></noscript>",
        "a\n\n[See the code](https://docs.example.com/gist)",
    ),
    "a notice with a link for readers without scripts": (
        "<p>a</p><noscript>Allow scripts to see <a href=/n>notes</a>.</noscript>",
        "a",
    ),
    "rows of a long list": (
        "<div style='height: 9000px'><div style='position:absolute;top:0'>a</div><div style='position:absolute;top:6000px'>b</div></div>",
        "a\n\nb",
    ),
    "a row above a long list": (
        "<div style='height: 9000px'><div style='position:absolute;top:-9999px'>a</div><p>b</p></div>",
        "b",
    ),
    "notes of an encyclopedia": (
        "<p>Hot.<sup id=r><a href=#cite_note-1>[1]</a></sup></p><ol><li id=cite_note-1><span class=mw-cite-backlink>^ <a href=#r>a</a></span> Very.</ol>",
        "Hot.[^1]\n\n[^1]: Very.",
    ),
}

CODE = {
    "lines in a table": (
        "<pre><table><tr><td class=lineno>1<td>boil()<tr><td class=lineno>2<td>pour()</table></pre>",
        "```\nboil()\npour()\n```",
    ),
    "a table behind an empty listing": (
        "<pre></pre><table><tr><th>a<tr><td>1</table>",
        "| a |\n| --- |\n| 1 |",
    ),
    "a title bar": (
        "<pre><div class=bar-title>boil.py</div><code class=language-py>a()</code></pre>",
        "boil.py\n\n```py\na()\n```",
    ),
    "a block that names no code": (
        "<pre><div class=title>a()</div>b()</pre>",
        "```\na()\nb()\n```",
    ),
    "lines that SyntaxHighlighter draws": (
        '<div class="syntaxhighlighter nogutter python"><table><tr><td class="gutter"><div class="line">1</div></td>'
        '<td class="code"><div class="line"><code>a</code>()</div><div class="line"><code>b</code></div></td></table></div>',
        "```python\na()\nb\n```",
    ),
    "numbers in a box beside it": (
        "<div><div class='line-numbers'><a href='#L1'>1</a><a href='#L2'>2</a></div><pre>a()\nb()</pre></div>",
        "```\na()\nb()\n```",
    ),
    "a box of code named by its numbers": (
        "<div class='line-numbers'><pre>a()</pre></div>",
        "```\na()\n```",
    ),
    "paragraphs": ("<pre><p>a()</p><p>b()</p></pre>", "```\na()\nb()\n```"),
    "numbers that are not selected": (
        '<pre><code class="language-go"><span style="display:flex"><span style="user-select:none"> 1</span><span>a()\n</span></span>'
        '<span style="display:flex"><span style="user-select:none">10</span><span>b()\n</span></span></code></pre>',
        "```go\na()\nb()\n```",
    ),
    "a language as DocC names it": (
        '<pre data-syntax="swift"><code>let a</code></pre>',
        "```swift\nlet a\n```",
    ),
    "what is not selected and no number": (
        '<pre><code><span style="user-select:none">$ </span>a</code></pre>',
        "```\n$ a\n```",
    ),
    "callouts": (
        '<pre><code class="language-c">a; // <b class="conum">(1)</b>\nb;</code></pre>',
        "```c\na; // (1)\nb;\n```",
    ),
    "popups": (
        '<pre class="shiki twoslash lsp"><code>let <span class="twoslash-hover"><span class="twoslash-popup-container"><code>let a: 1</code>'
        "<div><p>Doc</p></div></span>a</span></code></pre>",
        "```\nlet a\n```",
    ),
    "the language in a bar before it": (
        "<div><div class=bar><span>Go</span><button>Copy</button></div><pre>boil()</pre></div>",
        "```go\nboil()\n```",
    ),
    "numbers in a bare box beside it": (
        "<div><div>1<br>2</div><pre>a\nb</pre></div>",
        "```\na\nb\n```",
    ),
    "what only looks like numbers": (
        "<div><div>2024</div><pre>a\nb</pre></div>",
        "2024\n\n```\na\nb\n```",
    ),
    "lines that nothing parts": (
        "<pre><code><span class=hl-line>a</span><span class=hl-line>b</span></code></pre>",
        "```\na\nb\n```",
    ),
    "a field to read": (
        "<textarea readonly>a\nb</textarea>",
        "```\na\nb\n```",
    ),
    "a field to fill": (
        "<textarea>a\nb</textarea>",
        "",
    ),
    "a language by an attribute of its highlighter": (
        "<pre data-enlighter-language=php>a</pre>",
        "```php\na\n```",
    ),
    "a name of the file": (
        "<pre><code class=language-go name=lid.go>a</code></pre>",
        "lid.go\n\n```go\na\n```",
    ),
}

FORMULAS = {
    "in an attribute without a class": ('<span data-math="c^2">c2</span>', "$c^2$"),
    "power": (MATH.format("<msup><mi>c</mi><mn>2</mn></msup>"), "$c^{2}$"),
    "index and power": (
        MATH.format("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        "$x_{i}^{2}$",
    ),
    "fraction of sums": (
        MATH.format(
            "<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><msqrt><mi>b</mi></msqrt></mfrac>"
        ),
        r"$\frac{a+1}{\sqrt{b}}$",
    ),
    "root": (MATH.format("<mroot><mi>x</mi><mn>3</mn></mroot>"), r"$\sqrt[3]{x}$"),
    "limits": (
        MATH.format("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mi>i</mi>"),
        "$∑_{i}^{n}i$",
    ),
    "accent": (MATH.format("<mover><mi>x</mi><mo>^</mo></mover>"), r"$\hat{x}$"),
    "a function": (MATH.format("<mi>sin</mi><mo>\u2061</mo><mi>x</mi>"), r"$\sin x$"),
    "a base of several signs": (
        MATH.format("<msup><mrow><mo>(</mo><mi>a</mi><mo>)</mo></mrow><mn>2</mn></msup>"),
        "${(a)}^{2}$",
    ),
    "matrix": (
        MATH.format(
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>0</mn></mtd><mtd><mn>1</mn></mtd></mtr></mtable>"
        ),
        r"${\begin{matrix}1 & 0 \\ 0 & 1\end{matrix}}$",
    ),
    "drawn, with MathML": (
        f"<mjx-container><svg></svg><mjx-assistive-mml>{MATH.format('<msub><mi>a</mi><mn>1</mn></msub>')}</mjx-assistive-mml></mjx-container>",
        "$a_{1}$",
    ),
    "KaTeX as HTML alone": (
        '<span class="katex"><span class="katex-html" aria-hidden="true"><span>E</span><span>=</span><span>m</span></span></span>',
        "E=m",
    ),
    "drawn once more for old browsers": (
        '<span class="mwe-math-element"><span style="display: none"><math alttext="c^2"><annotation encoding="application/x-tex">c^2'
        '</annotation></math></span><img src="/c.svg" alt="c^2"></span>',
        "$c^2$",
    ),
    "in an attribute": ('<span class="math" data-math="x^2"><b>x</b>2</span>', "$x^2$"),
}

PICTURES = {
    "in noscript": (
        '<figure><img class="lazy" alt="Flow"><noscript><img src="/f.png"></noscript></figure>',
        "![Flow](https://docs.example.com/f.png)",
    ),
    "a set alone": (
        '<p><img srcset="/a.png 1x, /b.png 2x" alt="A"></p>',
        "![A](https://docs.example.com/a.png)",
    ),
    "for dark backgrounds, once more": (
        '<p><img class="only-light" src="/a.png" alt="A"><img class="only-dark" src="/b.png" alt="A"></p>',
        "![A](https://docs.example.com/a.png)",
    ),
    "for dark backgrounds, by its address": (
        '<p><img src="/a.png#dark" alt="A"> <img src="/a.png#light" alt="A"></p>',
        "![A](https://docs.example.com/a.png#light)",
    ),
    "for dark backgrounds alone": (
        '<p><img src="/dark.png" alt="A"><img src="/light.png" alt="B"></p>',
        "![A](https://docs.example.com/dark.png)![B](https://docs.example.com/light.png)",
    ),
    "of the picture around": (
        '<p><picture><source data-srcset="/a.webp"><img src="data:image/gif;base64,x" alt="A"></picture></p>',
        "![A](https://docs.example.com/a.webp)",
    ),
    "of a person": (
        "<p><img src=/a.png alt='Ann avatar'>Ann</p>",
        "Ann",
    ),
    "of an icon in a link": (
        "<p><a href=/a>Lid <img src=/e.svg alt='external link icon'></a></p>",
        "[Lid](https://docs.example.com/a)",
    ),
    "of nothing but noscript": (
        "<p><noscript><img src=/a.png alt=A></noscript></p>",
        "![A](https://docs.example.com/a.png)",
    ),
    "that folds": ("<h2><img src=/t.gif alt=Collapse>Lids</h2><p>x</p>", "## Lids\n\nx"),
    "a film of its own": (
        "<video controls><source src=/lid.mp4>No film.</video>",
        "[lid.mp4](https://docs.example.com/lid.mp4)",
    ),
    "a film that plays by itself": ("<p>a</p><video autoplay src=/lid.mp4></video>", "a"),
    "a drawing that is an object": (
        "<p><object data=/lid.svg type=image/svg+xml>None.</object></p>",
        '![](https://docs.example.com/lid.svg "lid.svg")',
    ),
    "a file that is an object": (
        "<object data=/lid.pdf title=Lids><p>None.</p></object>",
        "[Lids](https://docs.example.com/lid.pdf)",
    ),
    "a film": (
        "<div><iframe src='https://films.example.org/embed/1' title='Lids'></iframe></div>",
        "[Lids](https://films.example.org/embed/1)",
    ),
}


@pytest.mark.parametrize(
    ("fragment", "expected"), (WORDS | CODE | PICTURES).values(), ids=(WORDS | CODE | PICTURES)
)
def test_what_stands_inside(fragment, expected):
    assert inside(fragment) == expected


@pytest.mark.parametrize(("fragment", "expected"), FORMULAS.values(), ids=FORMULAS)
def test_formulas_keep_their_meaning(fragment, expected):
    assert inside(f"<p>So {fragment} holds.</p>") == f"So {expected} holds."


def test_what_a_button_answers_is_no_text():
    answer = "<pre><code>a</code></pre><button>Copy</button><span hidden>Copied!</span>"
    assert inside(f"<div>{answer}</div>") == "```\na\n```"
    bar = "<div><button>Copy</button><span>Copied</span></div><pre><code>a</code></pre>"
    assert inside(bar) == "```\na\n```"


def test_footnotes_beside_the_article_are_its_footnotes():
    page = (
        '<html><body><div><article><h1>Kettle</h1><p>It boils with all of its water<sup><a class="footnote-ref" href="#fn1">1</a></sup>.</p>'
        "<p>Another paragraph of words is read.</p></article>"
        '<aside><ol><li id="fn1">At sea. <a class="footnote-back" href="#r">↩</a></li></ol></aside></div></body></html>'
    )
    text = convert(page.encode(), URL, "utf-8").markdown
    assert "water[^1]." in text
    assert text.endswith("[^1]: At sea.\n")


SANDCASTLE = """<html><head><title>EmberId Property</title></head><body><table class="titleTable"><tr>
<td class="titleColumn">Kettle<span id="L1"></span><script>AddLanguageSpecificTextSet("L1?cs=.|vb=.|cpp=::|nu=.");</script>EmberId Property</td>
</tr></table><div id="main"><p>The id of the ember that heats the water of this kettle.</p>
<div class="collapsibleAreaRegion"><span class="collapsibleRegionTitle"><img class="collapseToggle" src="x.png" alt="-">Syntax</span></div>
<div class="collapsibleSection"><div class="codeSnippetContainer"><div class="codeSnippetContainerTabs">
<div class="codeSnippetContainerTabActive">C#</div><div class="codeSnippetContainerTab">VB</div></div>
<div class="codeSnippetContainerCodeContainer"><div class="codeSnippetToolBar"><a href="#">Copy</a></div>
<div class="codeSnippetContainerCode"><pre>public int EmberId { get; }</pre></div>
<div class="codeSnippetContainerCode" style="display: none"><pre>Public ReadOnly Property EmberId</pre></div></div></div></div></div></body></html>"""


def test_a_page_of_sandcastle_is_put_together():
    text = convert(SANDCASTLE.encode(), URL, "utf-8").markdown
    assert text == (
        "# Kettle.EmberId Property\n\nThe id of the ember that heats the water of this kettle.\n\n"
        "## Syntax\n\n```csharp\npublic int EmberId { get; }\n```\n"
    )


def hidden(text: str, key: int = 0x5C) -> str:
    """A text as a CDN hides it: a key, and each byte combined with it."""
    return "".join(f"{byte:02x}" for byte in (key, *(byte ^ key for byte in text.encode())))


def test_what_a_cdn_took_for_an_address_is_text_again():
    mark = '<a href="/cdn-cgi/l/email-protection" class="__cf_email__" data-cfemail="{}">[email&#160;protected]</a>'
    code = f"<pre><code>npm i {mark.format(hidden('left@1.2.3'))}\nset {mark.format(hidden('größe@x<y'))}[0]</code></pre>"
    assert inside(code) == "```\nnpm i left@1.2.3\nset größe@x<y[0]\n```"
    link = f'<p>Ask <a href="/cdn-cgi/l/email-protection#{hidden("a@e.com?subject=x")}">us</a>.</p>'
    assert inside(link) == "Ask [us](mailto:a@e.com?subject=x)."
    span = f'<p>Or <span class="__cf_email__" data-cfemail="{hidden("b@e.com")}">[email protected]</span>.</p>'
    assert inside(span) == "Or b@e.com."
