"""Write operations: check a request, turn it into events, publish them."""
