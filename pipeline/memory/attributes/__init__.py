"""Attributes of facts: subject, attribute name and value, where a text states them unambiguously."""
