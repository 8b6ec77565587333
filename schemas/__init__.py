"""Contracts only: events, topics, ids, filters and HTTP bodies. Imports pydantic and nothing of ours."""
