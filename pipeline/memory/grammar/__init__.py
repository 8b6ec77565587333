"""Rules that find facts in sentences."""
