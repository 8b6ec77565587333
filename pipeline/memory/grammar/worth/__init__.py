"""Worth of a clause as a memory: a score with its reasons."""
