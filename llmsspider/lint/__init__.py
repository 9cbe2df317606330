"""Rules for an llms.txt and for the site it describes (docs/reference/lint.md).

In: the text of an llms.txt, a `Fetch` for its links, what a store knows of its pages. Out: `Finding`s, rendered as
text, JSON, GitHub annotations or SARIF. The command `lint` and `report` import it.

    findings   every rule, with its level and remedy; what was found; the output formats
    outline    an llms.txt with the line of each part    text                rules of the text alone
    site_lint  checks of the links of a site             markdown_version    a page compared with its Markdown
    spider     the crawl that fetches for `site_lint`
"""
