"""The operator's commands, each a module: through the HTTP interface of a running service."""
