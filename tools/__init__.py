"""Tools for developers and CI."""
