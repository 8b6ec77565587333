"""Snapshots of namespace indexes on the disk, so that a cold namespace need not be read from its tables."""
