"""Sending what `app.importers` reads to a running service, so that nothing is sent twice."""
