"""The MCP server: agents search and read the crawled documentation (docs/how-to/mcp.md).

In: requests of an MCP client, over stdio or HTTP. Out: passages and pages of the page stores, labelled as third-party
text. Imports `retrieval`; only the command line imports it. The SDK (extra `mcp`) is imported by `server` alone.

    tool_results    the result of each tool     crawls     crawls that a client starts
    server          tools and transports        command    `llmsspider mcp`
"""
