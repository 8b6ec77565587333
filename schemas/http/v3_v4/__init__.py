"""Bodies of the earlier interface versions, v3 and v4, whose clients are still in use.

A container tag is a namespace, and a memory of v3 is a document.
"""
