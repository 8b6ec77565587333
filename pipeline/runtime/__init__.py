"""Process-wide facilities: event loop, locks, logging, metrics, correlation ids."""
