"""Routes of the v5 contract."""
