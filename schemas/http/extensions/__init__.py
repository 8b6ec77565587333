"""Bodies of the routes beyond the v5 contract."""
