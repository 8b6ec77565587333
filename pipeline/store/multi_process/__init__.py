"""Tables that several processes write."""
