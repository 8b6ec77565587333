"""HTTP endpoints for browsers and providers, mounted beside the API: OAuth callback, webhooks, picker."""
