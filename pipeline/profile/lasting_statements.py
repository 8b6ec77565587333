"""Statements that hold for months or years, learned from examples."""

from pathlib import Path

from pipeline.vector_classifier import VectorClassifier, read_classifier


def lasting_file(embedder_name: str) -> Path:
    """Return where an embedder's weights lie, if they do; `python -m bench.lasting_statements` writes them."""
    return Path(__file__).parent / f"lasting_{embedder_name.replace(' ', '_')}.npy"


def read_lasting_statements(embedder_name: str) -> VectorClassifier:
    return read_classifier(lasting_file(embedder_name))
