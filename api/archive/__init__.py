"""Export a namespace as lines, and import such lines as events."""
