"""Tests of `api.reads`."""
