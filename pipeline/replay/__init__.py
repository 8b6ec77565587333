"""Replay: tables made again from the log, beside those that are served."""
