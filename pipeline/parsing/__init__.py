"""Conversion of files and URLs to canonical text."""
