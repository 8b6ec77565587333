"""Replay: tables rebuilt from the log beside the served ones."""
