"""One module per part of the interface; a route is a few lines."""
