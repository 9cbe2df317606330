"""Search over the crawled documentation (docs/search.md).

In: the page store of a source and a query. Out: passages with their addresses, read from the store. Imports the
store and pure rooms below
it; commands, the extension that brings indexes in step and the MCP server import it.

    words      words of a text         query      what is asked for        passages   pieces of a page
    pages      what is indexed         index      SQLite FTS5              postgresql PostgreSQL's full text
    ranking    the order of results    spelling   typing errors            embedding  vectors of a user's class
    fragments  addresses of headings   sources    which source is meant    library    all sources, searched and read
    results    what comes out
"""

from llmsspider.retrieval.library import Library, search
from llmsspider.retrieval.ranking import SearchResult, SearchResults

__all__ = ["Library", "SearchResult", "SearchResults", "search"]
