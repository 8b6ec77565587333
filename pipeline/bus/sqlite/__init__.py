"""Embedded event bus: an append-only, partitioned log in SQLite."""
