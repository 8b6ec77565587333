"""Tests of standing questions."""
