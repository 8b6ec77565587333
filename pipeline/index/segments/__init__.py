"""Immutable segments: postings, vectors, columns and documents."""
