"""What leaves a crawl: feeds, exports, chunks, the knowledge graph, the Markdown tree, the status of a source.

In: the store, documents. Out: files, complete or not there. Extensions, pipelines and commands import it.
"""
