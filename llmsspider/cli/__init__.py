"""The command line: `llmsspider …`, and what its commands and those of `scrapy` share.

In: what a user typed. Out: a line for each mistake, an exit code. Commands import it.

    main           `llmsspider URL`, `llmsspider page URL`, every command from any folder
    mcp            `llmsspider mcp`, the server for agents, and the crawls that they start
    command        a command and its faults
    options        options and arguments
    printing       JSON and columns
    checking       every mistake of a crawl's arguments and settings
    scrapy_values  the values of Scrapy's own settings
"""
