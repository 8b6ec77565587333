"""Readers of other systems' exports: each yields documents, one at a time."""
