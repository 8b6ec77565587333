"""Installed packages: wheel, sdist, environments without optional modules."""
