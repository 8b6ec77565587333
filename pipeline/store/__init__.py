"""LanceDB: the durable projection of the log, and the blobs that events point to."""
