"""Pages of PDFs as pictures and lines of text, and where texts stand on them."""
