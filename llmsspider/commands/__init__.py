"""Commands of the project, one a module (`COMMANDS_MODULE` points here).

In: the command line. Out: text on stdout, one line on stderr for each mistake, an exit code. Nothing imports it but a
process that runs a command, and that imports all of them: what one alone needs is imported where it runs, and cyclic
garbage is looked for rarely from here on, hardly at all while modules are imported, which leave none. Python's defaults
look 275 times while a crawl starts, twice through all that was imported.
"""

import gc

gc.set_threshold(200_000, 20, 50)
