"""Profiles: what is known of whoever a namespace is about, kept up to date as its memories change."""
