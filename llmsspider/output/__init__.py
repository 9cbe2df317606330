"""What leaves a crawl: feeds, exports, chunks, the knowledge graph, the mirror, the status of a source.

In: the store, documents. Out: files that are complete or not there. Extensions, pipelines and commands import it.
"""
