"""What people and providers call: the OAuth callback, webhooks, the picker. Mounted beside the interface."""
