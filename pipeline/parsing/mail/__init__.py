"""Mails: their parts, texts, quotations and files."""
