"""What changed in the documentation of a source: from the store to text, Markdown, JSON and HTML. No Scrapy.

In: a store and the change to begin after. Out: `SourceChanges`, rendered. Commands, extensions and output import it.

compare     two contents of a page: blocks that were added, removed or changed, by words; what a build may change
meaning     names and versions that appear or vanish, what is deprecated, and which lines are no news
source      all changes of a source since a run, a date or a number; moved pages are recognised
render      text, Markdown, JSON, HTML and an Atom feed of the changes
webhook     the same sent to a URL
"""

import sys

from llmsspider import CallableRoom

sys.modules[__name__].__class__ = CallableRoom
