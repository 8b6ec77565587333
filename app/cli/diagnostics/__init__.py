"""Checks of `recollect doctor`."""
