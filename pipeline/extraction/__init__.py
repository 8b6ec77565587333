"""From files and URLs to canonical text."""
