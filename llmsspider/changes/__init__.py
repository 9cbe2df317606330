"""What changed in the documentation of a source, in words: from the store to text, Markdown, JSON and HTML. No Scrapy.

blocks      a page as its headings, paragraphs, items, code blocks and tables
compare     the blocks of two contents of a page: what was added, removed, changed, by words
noise       dates, build numbers and counters that change every time, told by earlier contents
names       parameters, flags, calls and versions that appear or vanish
source      all changes of a source since one of its changes, pages that moved recognised
since       a run, a date or a number as the change to begin after
told, markup    the result to read: text, Markdown, JSON; HTML
"""
