"""Commands of the project, one a module (`COMMANDS_MODULE` points here).

In: the command line. Out: text on stdout, one line on stderr for each mistake, an exit code. Only a
process that runs a command imports this package, and it imports every command: so what one command
alone needs is imported when it runs. The thresholds of the cyclic garbage collector are raised,
since importing modules leaves hardly any garbage: with Python's defaults it runs 275 times while a
crawl starts, twice over all objects.
"""

import gc

gc.set_threshold(200_000, 20, 50)
