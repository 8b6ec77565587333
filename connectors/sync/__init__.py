"""Scheduling and running of syncs, and their state."""
