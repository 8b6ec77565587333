"""Live feed of a namespace: events of the log as they take effect, resumable, for any number of listeners."""
