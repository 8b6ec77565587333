"""Erasure: what deleted documents and namespaces left in the log, the blobs and the files of tables."""
