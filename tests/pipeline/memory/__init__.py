"""Tests of memory formation."""
