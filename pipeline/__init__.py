"""From events to tables: the bus, the stages, the pure rules of memory, the store and inference."""
