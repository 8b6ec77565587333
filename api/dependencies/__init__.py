"""FastAPI dependencies: application state, authentication, parameters and ports."""
