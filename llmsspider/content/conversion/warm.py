"""Makes the process that imports it ready for calls: the fork server, from which ready workers are
forked then.
"""

import signal
import sys

from llmsspider.content.conversion import prepare

prepare()
if sys.platform != "win32":  # what came while it was blocked (`processes`) was for the crawl
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, before)
