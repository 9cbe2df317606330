"""Known documentation generators, as data: how each is recognised and which element holds its content.

Commonest first: the first entry that is confirmed wins. What many share is in `rules`, `code` and `components`.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from cssselect import HTMLTranslator

from llmsspider.errors import ArgumentsError
from llmsspider.web.loading import find


@dataclass(frozen=True)
class Generator:
    """One generator. A page belongs to it when any of `marks` is in its bytes and a `main` selector matches.

    `meta` is the beginning of its `<meta name="generator">`, lower case; such entries are tried first. `drop` is a list
    of the small selectors of `rules`, separated by spaces, of what is no content. `unlabelled` is the language class
    that it puts on code without a language. `definitions` is `list` where its own Markdown writes definition lists as
    bullets. `title` is the first element that is the page's title without being an `<h1>`, as `tag.class`. `results` is
    the id of the element that a search page puts its results into.
    """

    name: str
    marks: tuple[str, ...]
    main: tuple[str, ...]
    drop: str = ""
    unlabelled: str = ""
    definitions: Literal["lines", "list"] = "lines"
    title: str = ""
    meta: str = ""
    results: str = ""


UNKNOWN = Generator("generic", (), ())
"""Stands for a page of no known generator."""

# fmt: off
GENERATORS = (
    Generator("sphinx", ("documentation_options", "doctools.js", "DOCUMENTATION_OPTIONS", "sphinxsidebar",
                         "furo-main-content", "bd-article"),
        ("article.bd-article", "[itemprop=articleBody]", "#furo-main-content", "div.body[role=main]",
         "[role=main] .document", "[role=main]", "div.body", "article[role=main]", "main", "div.document"),
        "#searchbox .sphinxsidebar .viewcode-link .rst-footer-buttons .prev-next-area .bd-header-article "
        "div.related nav.contents div.contents div.sphinx-tabs-tab .toc-title #contents.topic .bd-toc "
        ".sd-tab-label-hidden .prev-next-footer .header-article .viewcode-block-link .cell_input_toggle "
        "p.collapsed p.expanded",
        results="search-results"),
    Generator("mkdocs-material", ("md-content__inner",),
        ("article.md-content__inner", ".md-content__inner"),
        ".md-content__button .md-source-file .md-feedback .md-tags .md-annotation__index #__comments "
        ".md-post__meta .md-source-date",
        unlabelled="text", meta="mkdocs"),
    Generator("mkdocs", ("mkdocs", "MkDocs"),
        ("div[role=main] div.section", "[itemprop=articleBody]", "[role=main]", "div.col-md-9[role=main]",
         "div.content"),
        ".rst-footer-buttons .wy-breadcrumbs"),
    Generator("docusaurus", ("docusaurus",),
        (".theme-doc-markdown", "article .markdown", "div:has(> header.hero)", "article", "main"),
        ".theme-doc-toc-mobile .theme-doc-breadcrumbs .theme-doc-version-badge .theme-doc-footer "
        ".theme-doc-version-banner .pagination-nav .buttonGroup header.nothing",
        unlabelled="text", meta="docusaurus"),
    Generator("mdbook", ("mdBook", "chapter-item", "mdbook"),
        ("#content main", "#mdbook-content main", "main"),
        ".nav-wrapper .nav-wide-wrapper .buttons"),
    Generator("vitepress", ("vp-doc", "VPHome"),
        (".VPHome", ".vp-doc"),
        ".vp-copy span.lang .line-numbers-wrapper .VPDocFooter .VPBadge div.icon",
        unlabelled="txt", meta="vitepress"),
    Generator("starlight", ("sl-markdown-content",),
        ("main:has(.sl-markdown-content)", ".sl-markdown-content"),
        "mobile-starlight-toc .right-sidebar .sl-banner .meta starlight-menu-button",
        unlabelled="plaintext"),
    Generator("vuepress", ("theme-default-content", "VuePress", "theme-container"),
        (".theme-default-content", ".vp-page [vp-content]", "[vp-content]", ".theme-hope-content",
         "main.page", "main"),
        ".vp-page-meta .line-numbers .line-numbers-wrapper .vp-page-nav",
        unlabelled="text", meta="vuepress"),
    Generator("nextra", ("nextra",),
        ("article main", "main article", "article", "main"),
        ".nextra-toc .nextra-breadcrumb .nextra-sidebar-container .nextra-code-copy .nextra-breadcrumbs "
        ".nextra-button .nextra-pagination .nx-pt-8 .x:pt-8"),
    Generator("fumadocs", ("nd-page", "fumadocs", "nd-docs-layout"),
        ("#nd-page article", "article#nd-page", "#nd-page", "article .prose", "main article", "article"),
        "#nd-tocnav #nd-toc .fd-toc [data-toc-popover] [data-breadcrumb] [data-card-footer] [data-toc]"),
    Generator("rustdoc", ('name="generator" content="rustdoc"', "rustdoc-"),
        ("#main-content", "section#main", "main .content", "main"),
        "#copy-path rustdoc-toolbar #rustdoc-toolbar .out-of-band .src #render-detail a.anchor a.doc-anchor "
        ".tooltip rustdoc-search .rustdoc-breadcrumbs .notable-traits .sidebar .since .stab-icon .hideme "
        ".test-arrow .rightside .sub-heading",
        meta="rustdoc"),
    Generator("javadoc", ("Generated by javadoc", 'content="javadoc/', 'class="contentContainer"'),
        ('main[role="main"]', "main", "body"),
        ".sub-nav .top-nav .fixedNav .topNav .bottomNav .subNav .nav-bar .table-tabs .navPadding .skipNav "
        ".legalCopy #skip-navigation-top .skip-nav .legal-copy .copy-to-clipboard .page-search .navBarCell1 "
        ".NavBarCell1",
        title="h2.title", meta="javadoc"),
    Generator("doxygen", ("Generated by Doxygen", 'content="Doxygen', "doxygen.css"),
        ("#doc-content", "body"),
        ".dynheader .dyncontent #nav-path .ttc .navpath #top #nav-tree #side-nav #titlearea "
        "#MSearchSelectWindow #MSearchResultsWindow address.footer .inherit_header .mlabels-right "
        "span.mlabels .summary .arrow center.iframe hr.footer .ingroups",
        title="div.title", meta="doxygen"),
    Generator("docutils", ('content="Docutils',),
        ("div.document", "main"),
        "nav.contents div.contents .system-message"),
    Generator("docbook", ("DocBook", "docbook"),
        ("#docContent", "div.book", "div.part", "div.reference", "div.chapter", "div.preface",
         "div.appendix", "div.article", "div.refentry", "div.sect1", "div.section", "body"),
        "div.toc .TOC #docFooter p.toc-title table.navigation div.footer",
        meta="docbook"),
    Generator("antora", ('content="Antora', "article.doc", 'class="doc"'),
        ("article.doc",),
        ".page-versions .toolbar aside.toc .source-toolbox .copy-toast",
        meta="antora"),
    Generator("asciidoctor", ("Asciidoctor", "AsciiDoc", "sectionbody"),
        ("body.article", "body.book", "body.manpage", "#content"),
        "#footer .source-toolbox #header.details div.details .manname-icon",
        meta="asciidoctor"),
    Generator("pkgdown", ("pkgdown",),
        ("main#main", "div.contents", "#main", "main"),
        "img.logo .pkgdown-footer #pkgdown-sidebar small.dont-index #tocnav .d-none div.hidden",
        definitions="list", meta="pkgdown"),
    Generator("quarto", ("quarto-document-content", 'content="quarto-'),
        ("#quarto-document-content", "main.content"),
        "#quarto-margin-sidebar .quarto-title-breadcrumbs .quarto-code-links .code-tools-button .nav-page "
        ".toc-actions .quarto-title-meta .quarto-categories .quarto-page-breadcrumbs .quarto-code-tools "
        ".quarto-alternate-formats .quarto-about-links .source-code-toggle",
        meta="quarto"),
    Generator("just-the-docs", ("just-the-docs",),
        ("#main-content main", "#main-content", ".main-content main", ".main-content"),
        ".breadcrumb-nav .anchor-heading .site-footer #markdown-toc .search",
        meta="jekyll"),
    Generator("docsy", ("td-content", "docsy"),
        ("main .td-content", ".td-content"),
        ".td-page-meta #pre-footer .td-page-meta__lastmod .section-index .taxonomy",
        meta="hugo"),
    Generator("hugo-book", ("book-page", "hextra", "hugo-"),
        ("article.book-article", "article.markdown", ".hextra-content main .content", "main .content",
         "main article"),
        ".hextra-toc .hextra-code-copy-btn-container .hx-mt-16 #hugo-encryptor",
        meta="hugo"),
    Generator("gitbook", ("gitbook", "GitBook"),
        ("main section.markdown-section", "section.normal.markdown-section", "main", ".page-inner"),
        ".page-footer .gitbook-link .anchor",
        meta="gitbook"),
    Generator("mintlify", ("mintlify", "Mintlify"),
        ("#content-area", "#content", "#content-container", "main", "article"),
        "#pagination #page-context-menu .feedback-toolbar #breadcrumb #footer #sidebar "
        "[data-component-part=code-block-copy-button] .eyebrow #assistant-entry",
        meta="mintlify"),
    Generator("readme", ("readme-", "rm-Markdown", "rm-Article"),
        ("article.rm-Article", ".markdown-body", "#content .content-body", "article"),
        ".rm-Pagination .rm-TableOfContents .content-toc .rm-PaginationControls .heading-anchor-icon "
        ".heading-anchor-deprecated .rm-Copy .UpdatedAt .PageThumbs"),
    Generator("docsify", ("docsify",),
        ("article#main", "article.markdown-section", ".markdown-section"),
        ".anchor-empty .docsify-copy-code-button .docsify-pagination-container"),
    Generator("github", ("github.githubassets.com", "github-markdown", "markdown-body", "jekyll-theme"),
        ("article.markdown-body", ".markdown-body", "#readme article", "section#main_content",
         "#main-content"),
        ".anchor .octicon [aria-label=Permalink]"),
    Generator("jekyll", ('content="Jekyll', "jekyll"),
        ("article.post", "article .post-content", ".post-content", ".page-content", "article", "main"),
        ".post-meta .page-meta .page__meta .toc__menu",
        meta="jekyll"),
    Generator("zendesk", ("zdassets", "zendesk"),
        ("[itemprop=articleBody]", "article .article-body", ".article__body")),
    Generator("confluence", ("confluence", "atlassian"),
        ("#main-content.wiki-content", ".wiki-content"),
        ".toc-macro .page-metadata .aui-icon"),
    Generator("texinfo", ("makeinfo", "texi2any"),
        ("body",),
        ".header .nav-panel .contents .shortcontents .summarycontents .element-contents "
        ".element-shortcontents .element-header .element-footer h2.contents-heading "
        "h2.shortcontents-heading .copiable-link h4.footnotes-heading",
        meta="makeinfo"),
    Generator("haddock", ("haddock",),
        ("#content",),
        "#synopsis .selflink a.link",
        title="p.caption"),
    Generator("mediawiki", ("mw-content-text", "MediaWiki"),
        ("main#content", "#content", ".mw-body"),
        "#siteSub #contentSub #contentSub2 #jump-to-nav #catlinks #mw-indicator .mw-jump-link "
        ".mw-editsection .editsection .printfooter .navbox .mw-indicators .mw-portlet .vector-menu "
        ".vector-page-toolbar .vector-toc .mw-redirectedfrom .mw-empty-elt .t-navbar .t-example-live-link",
        meta="mediawiki"),
    Generator("scaladoc", ('id="mbrsel"', 'id="template-contents"'),
        ("#content-container", "body"),
        "img .big-circle #owner #mbrsel #search #search-results #footer #tooltip .diagram-container "
        ".diagram-btn #inheritedMembers #groupedMembers"),
    Generator("pdoc", ('content="pdoc',),
        ("main.pdoc", "article#content"),
        ".view-source-button .git-link-button details.source",
        meta="pdoc"),
    Generator("nimdoc", ("nimdoc", "Nim Documentation Generator", "Nim DocGen"),
        ("#documentId .container", "#documentId"),
        ".three.columns #global-links #searchInputDiv #toc-list .search-groupby .theme-switch-wrapper "
        ".theme-select-wrapper .link-seesrc #tocRoot"),
    Generator("rdoc", ("RDoc", "rdoc.css"),
        ("main[role=main]", "#documentation", "main"),
        ".method-source-code .method-source-toggle .method-click-advice .method-controls .top-link "
        ".nav-section"),
    Generator("yard", ("Documentation by YARD", 'id="yard_'),
        ("#content",),
        ".source_code .showSource .toggleSource .summary_toggle .inheritanceTree"),
    Generator("exdoc", ("ExDoc", "content-inner"),
        ("#content.content-inner", "main #content", "#content", "main"),
        ".icon-action .view-source .detail-link .hover-link .bottom-actions .livebook-badge-container "
        ".settings .page-settings .app-vsn #top-content-actions",
        meta="exdoc"),
    Generator("documenter", ("Documenter.jl", "documenter-page"),
        ("#documenter-page", "article.content", "article"),
        ".docs-heading-anchor-permalink .docstring-article-toggle-button .docs-article-toggle-button "
        ".docs-sourcelink .docs-edit-link .docs-footer .docs-navbar",
        meta="documenter"),
    Generator("typedoc", ("typedoc", "tsd-"),
        (".col-content", ".container-main .col-8"),
        ".tsd-breadcrumb .tsd-anchor-icon .tsd-kind-icon .tsd-navigation .tsd-page-toolbar .tsd-sources>ul "
        ".tsd-widget .tsd-filter-visibility",
        meta="typedoc"),
    Generator("docfx", ("docfx",),
        ("article.content", "article[data-uid]", "article"),
        ".contribution .contribution-panel .actionbar .affix .in-this-article .next-article a.header-action "
        ".mobile-hide",
        meta="docfx"),
    Generator("redoc", ("redoc-wrap", "redoc-json"), (".api-content",)),
    Generator("dokka", ("pageIds=", "pageids="),
        ("#main .main-content", ".main-content"),
        ".tabs-section"),
)
# fmt: on


@lru_cache(maxsize=8)
def own_generators(paths: tuple[str, ...]) -> tuple[Generator, ...]:
    """Return the generators at the paths of `LLMS_GENERATORS`; raises `ArgumentsError`, a line for each bad one."""
    found: list[Generator] = []
    problems: list[str] = []
    for path in paths:
        try:
            one = find(path)
            if not isinstance(one, Generator):
                raise TypeError("it is no llmsspider.content.extraction.generators.Generator")
            if not one.marks or not one.main:
                raise ValueError("it has no marks, or no main")
            for selector in one.main:
                HTMLTranslator().css_to_xpath(selector)
            found.append(one)
        except Exception as error:  # whatever the user's module raises
            why = f"{type(error).__name__}: {error}"
            accepted = f"the path of a Generator is accepted, see docs/how-to/extending.md ({why})"
            problems.append(f"setting LLMS_GENERATORS, {path!r}: {accepted}")
    if problems:
        raise ArgumentsError(problems)
    return tuple(found)


def fingerprint_of(generators: Iterable[Generator]) -> str:
    """Return a hash of these generators, a part of the converter's fingerprint; empty without generators."""
    rules = repr(tuple(generators))
    return "" if rules == "()" else f"+rules-{hashlib.sha256(rules.encode()).hexdigest()[:8]}"
