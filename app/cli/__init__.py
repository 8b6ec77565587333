"""The `recollect` command line."""
