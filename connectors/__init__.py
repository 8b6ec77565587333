"""Pollers and webhook receivers that publish documents to the bus."""
