"""One module per source: what its API calls things, and where its traps are."""
