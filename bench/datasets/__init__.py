"""Labeled pairs of memories: what the newer is to the older, and what follows from two."""
