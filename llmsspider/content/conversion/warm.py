"""Makes the process that imports it ready for calls: the fork server, from which ready workers are forked then."""

from llmsspider.content.conversion.calls import prepare

prepare()
