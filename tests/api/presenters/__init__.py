"""Tests of `api.presenters`."""
