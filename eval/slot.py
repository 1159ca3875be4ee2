"""The open place in a prompt."""

SLOT = "[Y]"
