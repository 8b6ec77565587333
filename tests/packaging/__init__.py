"""What is installed: wheel, sdist, environments without optional modules."""
