"""Extraction of facts from documents and formation of memories."""
