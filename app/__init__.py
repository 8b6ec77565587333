"""Composition, life cycle, command line and replay of the service."""
