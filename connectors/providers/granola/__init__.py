"""The Granola connector."""
