"""Pure rules of memory: which sentences are facts, how facts relate, what a profile is."""
