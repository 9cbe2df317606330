"""Commands of the project, one a module (`COMMANDS_MODULE` points here).

In: the command line. Out: text on stdout, one line on stderr for each mistake, an exit code. Nothing imports it.
"""
