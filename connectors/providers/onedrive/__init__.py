"""The OneDrive connector."""
