"""What other projects plug in: vector stores kept in step with the pages
(docs/how-to/vector-stores.md), loaders.

Settings, `export --to` and users name what is here; each module needs the package that it is named
after.

    vectors   the base class: delivery by sequence number, embedding, what a store has to implement
    qdrant    Qdrant, a server or a folder             lancedb   LanceDB, a folder or a bucket
    loaders   what they load: text and metadata  langchain, llamaindex, haystack   a loader for each
"""
