"""Classifiers learned from examples: biases, kinds of answers, and when a newer statement answers instead."""
