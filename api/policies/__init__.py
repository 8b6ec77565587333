"""Per-caller rules: API keys, rate limits, quotas and the audit log."""
