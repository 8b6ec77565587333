"""Routes beyond the v5 contract: health, administration, export, explanations."""
