"""The browser console: static pages that ask the interface with the visitor's own key, and nothing else."""
