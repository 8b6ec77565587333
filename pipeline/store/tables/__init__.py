"""The tables of documents, chunks, memories and settings."""
