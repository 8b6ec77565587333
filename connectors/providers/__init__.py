"""Providers: one package per source with its API client, content conversion and sync."""
