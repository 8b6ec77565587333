"""Errors of requests with their HTTP status."""
