"""The namespace index: one namespace in memory, searched in a millisecond."""
