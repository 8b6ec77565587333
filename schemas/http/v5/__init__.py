"""Bodies of the v5 contract."""
