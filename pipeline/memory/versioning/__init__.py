"""Versions of memories: comparison, relations, history."""
