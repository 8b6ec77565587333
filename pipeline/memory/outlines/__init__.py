"""Outlines of short statements, read by their words, and whether one of them ends another."""
