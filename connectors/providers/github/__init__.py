"""The GitHub connector."""
