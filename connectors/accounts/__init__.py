"""Accounts at providers: OAuth, encrypted credentials, webhook subscriptions."""
