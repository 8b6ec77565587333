"""Export a namespace as lines, import such lines as events, and redact documents by importing them anew."""
