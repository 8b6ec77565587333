"""Tests of what judges memories."""
