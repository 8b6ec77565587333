"""Routes of v3 and v4 for their clients: adapters over the commands and queries that v5 uses.

A container tag is a namespace. An operation that this service cannot do answers 501 with the reason.
"""
