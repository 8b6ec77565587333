"""Contracts: events, topics, ids, filters and HTTP bodies. Imports no other package of the project."""
