"""Benchmarks: medians and ratios against a baseline of the same run."""
