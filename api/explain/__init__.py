"""Explain search results, profiles, and the origin of documents, chunks and memories."""
