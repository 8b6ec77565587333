"""The Gmail connector."""
