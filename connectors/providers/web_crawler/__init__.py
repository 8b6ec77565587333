"""The web crawler connector."""
