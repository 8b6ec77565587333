"""The consumer stages, written against ports."""
