"""Languages other than English, a file for each: how people speak of themselves, doubt, ask, and end things."""
