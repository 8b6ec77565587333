"""Slots: what a fact says about an attribute that holds one value at a time, where it is safe to tell."""
