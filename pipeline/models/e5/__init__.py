"""multilingual-e5-small: weights, network, tokenizer and embedder."""
