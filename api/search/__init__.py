"""Search and profile queries: query rewriting, ranking, reranking."""
