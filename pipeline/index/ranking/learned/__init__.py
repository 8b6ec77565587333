"""Classifiers learned from examples: biases, kinds of answers, changes, and when a newer statement answers instead."""
