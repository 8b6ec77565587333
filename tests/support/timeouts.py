"""Deadline for expected events in tests; no measure of how long they should take.

A busy machine is twenty times as slow at times.
"""

WAIT_TIMEOUT_SECONDS = 180.0
"""Seconds."""
