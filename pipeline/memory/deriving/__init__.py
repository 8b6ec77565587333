"""What follows from two memories together, by rules whose conclusions hold: pure."""
