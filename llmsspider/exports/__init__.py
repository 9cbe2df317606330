"""What the store holds, in the forms people ask for; one page in memory at a time, a few bytes for each other one.

The parts:

    documents   rows: JSON Lines, CSV, Parquet, chunks    sitetree   the order of pages, from their links
    flat        one Markdown file                         graph      nodes and links: JSON, ASCII, SVG, HTML
"""
