"""Query-time ranking: candidate generation, scoring, reranking, explanation."""
