"""Sealing of records: keys, their custody, and their destruction."""
