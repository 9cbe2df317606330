"""What changed in the documentation of a source: from the store to text, Markdown, JSON and HTML.
No Scrapy.

In: a store and the change to begin after. Out: `SourceChanges`, rendered. Commands, extensions and
output import it.

    source   all changes of a source since a run, a date or a number
    compare  two contents of a page, block by block and word by word
    noise    what changes with every build
    kinds    text, code, structure, addresses
    render   as text, Markdown, JSON and HTML
    atom     as a feed
    webhook  as a request to a webhook
"""
