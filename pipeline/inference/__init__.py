"""Embedders and language models, each behind a port."""
