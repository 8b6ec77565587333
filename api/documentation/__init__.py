"""Documentation for browsers: an API reference."""
