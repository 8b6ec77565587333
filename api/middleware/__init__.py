"""ASGI middleware: admission control, error responses and security headers."""
