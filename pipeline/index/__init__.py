"""The hot cache: one namespace in memory, searched in a millisecond."""
