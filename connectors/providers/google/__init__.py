"""OAuth and push notifications that Google providers share."""
