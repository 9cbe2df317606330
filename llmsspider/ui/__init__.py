"""The web page on this machine: sources, search, pages and changes (`llmsspider ui`).

In: a library of stores. Out: HTML. Nothing of the rooms below imports it; the command line does.
"""
