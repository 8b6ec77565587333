"""Deferred extraction and expiration."""
