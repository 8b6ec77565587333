"""Ten small worlds of one person each, with key facts, what must not be shown, and lines judged by reading."""
