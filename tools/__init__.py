"""What developers and CI need besides the service."""
