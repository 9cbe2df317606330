"""What the owner of an llms.txt should mend: the file itself, and how it fits the site it describes.

docs/reference/lint.md explains each rule.

rules       every rule: its level and its remedy         findings    what was found
outline     an llms.txt with the place of everything     text        rules of the text alone
site        the links of a site, checked                 pages       rules of what they answered
formats     text, JSON, GitHub annotations, SARIF
"""
