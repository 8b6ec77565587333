"""Turn events into tables: bus, stages, memory rules, store, index and models."""
