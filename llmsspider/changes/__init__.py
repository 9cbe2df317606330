"""What changed in the documentation of a source: from the store to text, Markdown, JSON and HTML.
No Scrapy.

In: a store and the change to begin after. Out: `SourceChanges`, rendered. Commands, extensions and
output import it.
"""

import sys

from llmsspider import CallableRoom

sys.modules[__name__].__class__ = CallableRoom
