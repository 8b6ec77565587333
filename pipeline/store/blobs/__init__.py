"""Content-addressed blobs in a folder or an object store."""
