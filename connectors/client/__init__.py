"""HTTP client of providers with throttling and bounded concurrency."""
