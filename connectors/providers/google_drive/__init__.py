"""The Google Drive connector."""
