"""What Scrapy's log says of the machine: the processes that are forked know it, and none starts `uname` to find out."""

import platform

platform.platform()
