"""Checks what many clients saw of few documents against the log: nothing lost, doubled, stuck or going back."""
