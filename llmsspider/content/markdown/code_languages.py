"""The languages of the code blocks in a Markdown text, one name for each."""

import re
from collections.abc import Iterator
from functools import lru_cache

MOST = 50
"""Languages of one text that are named."""

_FENCE = re.compile(
    r"((?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*+)[ \t]*(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})([^\n]*)"
)
"""A line that may begin or end a block, in lists and quotes too (CommonMark, 4.5): what stands around the mark."""
_WORD = re.compile(r"(?:lang(?:uage)?-)?([^\W\d_][\w+#.-]{0,30}|[12]c)(?=[\s,:;{(\[=]|\Z)")
_BRACES = re.compile(r"\{\s*(\.?)([\w+#-]{1,40})[^{}]*\}\s*(.*)")
_DIRECTIVES = frozenset({"code-block", "code", "code-cell", "sourcecode", "literalinclude", "prompt"})
"""Directives of MyST whose argument is the language."""
_NONE = re.compile(
    "text|txt|plain|plaintext|plain-text|none|no-highlight|nohighlight|default|output|raw|code|null|undefined|auto|"
    "unknown|other"
)
"""Words that name no language."""

_NAMES = {
    "asciidoc": "adoc",
    "asm": "assembly nasm gas assembler",
    "batch": "bat cmd dosbatch winbatch batchfile",
    "bibtex": "bib",
    "c": "h",
    "clojure": "clj cljs edn",
    "cpp": "c++ cxx cc hpp",
    "csharp": "cs c# c-sharp",
    "cuda": "cu",
    "diff": "patch udiff",
    "dockerfile": "docker containerfile",
    "elixir": "ex exs iex",
    "emacs-lisp": "elisp emacs",
    "erlang": "erl",
    "fortran": "f90 f95 fortran-free",
    "fsharp": "f# fs",
    "go": "golang",
    "graphql": "gql",
    "haskell": "hs ghci",
    "hcl": "terraform tf",
    "html": "htm xhtml html5",
    "ini": "cfg dosini",
    "javascript": "js node nodejs mjs cjs ecmascript",
    "jinja": "jinja2 j2",
    "julia": "jl jlcon julia-repl",
    "kotlin": "kt kts",
    "latex": "tex",
    "lisp": "common-lisp cl",
    "makefile": "make mk mf",
    "markdown": "md mkd mdown",
    "nim": "nimrod",
    "objective-c": "objc obj-c objectivec",
    "ocaml": "ml",
    "perl": "pl",
    "php": "php3 php4 php5 php7",
    "powershell": "ps1 ps pwsh posh",
    "protobuf": "proto protocol-buffer",
    "python": "py python3 py3 python2 py2 pycon python-console python-repl ipython ipython3 doctest",
    "r": "rlang splus rconsole",
    "racket": "rkt",
    "rst": "rest restructuredtext",
    "ruby": "rb irb",
    "rust": "rs",
    "scala": "sc",
    "scheme": "scm",
    "shell": (
        "sh bash zsh ksh shell-script shellscript console terminal shell-session shellsession sh-session bash-session"
        " bash-console text-console"
    ),
    "typescript": "ts mts cts",
    "vb": "vbnet vb.net visual-basic visualbasic",
    "vim": "viml vimscript",
    "wasm": "wat webassembly",
    "yaml": "yml",
}
_NAMES |= dict.fromkeys(["css", "java", "json", "lua", "matlab", "mdx", "sql", "swift", "toml", "xml"], "")
_ONE_NAME = {word: name for name, words in _NAMES.items() for word in (name, *words.split())}


def normalised(word: str) -> str:
    """Return the one name of a language, '' for a word that names none; a word that is not known is its own name.

    >>> normalised("sh"), normalised("JS"), normalised("text"), normalised("brainfuck")
    ('shell', 'javascript', '', 'brainfuck')
    """
    name = word.lower()
    name = _ONE_NAME.get(name) or _ONE_NAME.get(name.replace("_", "-"), name)
    return "" if _NONE.fullmatch(name) else name


def code_languages(markdown: str) -> list[str]:
    r"""Return the languages of the fenced code blocks of a text, each once under one name, in the order of the text.

    >>> code_languages("```sh\nls\n```\n\n> ~~~ {.js .wide}\n> 1\n> ~~~\n\n```bash\nls\n```\n")
    ['shell', 'javascript']
    """
    return list(_languages(markdown))


@lru_cache(4)  # a page is asked when its item is made and again when it is stored
def _languages(markdown: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    fence = ""
    for before, mark, info in _fences(markdown):
        if fence:
            if mark.startswith(fence) and not info and not before.strip("> \t"):
                fence = ""
            continue
        fence = mark
        if info and (name := normalised(_word_of(info))):
            found[name] = None
            if len(found) == MOST:
                break
    return tuple(found)


def _fences(markdown: str) -> Iterator[tuple[str, str, str]]:
    """Yield the lines that may begin or end a block: what stands before the mark, the mark, what stands behind it."""
    backticks, tildes = markdown.find("```"), markdown.find("~~~")
    while places := [place for place in (backticks, tildes) if place >= 0]:
        place = min(places)
        line = _FENCE.match(markdown, markdown.rfind("\n", 0, place) + 1)
        if line is not None:
            yield line[1], line[2], line[3].strip()
        end = markdown.find("\n", place)
        end = len(markdown) if end < 0 else end
        backticks = markdown.find("```", end) if 0 <= backticks < end else backticks
        tildes = markdown.find("~~~", end) if 0 <= tildes < end else tildes


@lru_cache(1024)
def _word_of(info: str) -> str:
    """Return the word of an info string that names the language: of CommonMark, Pandoc, knitr or MyST."""
    braces = _BRACES.match(info)
    if braces is None:
        word = _WORD.match(info)
        return word[1].rstrip(".") if word else ""
    dot, name, rest = braces.groups()
    if dot or name.lower() in _ONE_NAME:
        return str(name)
    return _word_of(rest) if name in _DIRECTIVES and not rest.startswith("{") else ""
