"""Rules for an llms.txt and for the site it describes (docs/reference/lint.md).

In: the text of an llms.txt, a `Fetch` for its links, what a store knows of its pages. Out:
`Finding`s, rendered as text, JSON, GitHub annotations or SARIF. Only the command `lint` imports it.

    findings   every rule, with its level and remedy; what was found; the output formats
    text       the rules of an llms.txt, with the place of each part
    site       the spider that checks the links of a site, and the files beside its llms.txt
"""
