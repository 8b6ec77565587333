"""Rule-based inference from pairs of memories. Pure."""
