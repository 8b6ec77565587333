"""Documentation for browsers: guides and an API reference."""
