"""The HTTP read and write layer over the v5 memory interface."""

VERSION = "0.1.0"
