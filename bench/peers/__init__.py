"""Other systems over the same passages and vectors, each in an environment of its own."""
