"""Bodies and answers of the v5 memory interface."""
