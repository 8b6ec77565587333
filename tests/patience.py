"""How long tests wait for what has to come, which says nothing of how long it should take.

It bounds what never comes. On a machine that others use, everything takes twenty times as long at times.
"""

PATIENCE = 180.0
"""Seconds."""
