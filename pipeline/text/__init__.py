"""Text analysis that writing and reading must share."""
