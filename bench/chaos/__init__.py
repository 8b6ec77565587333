"""Faults, on purpose, against the real service in processes of its own."""
