"""Tables of one process: memtable, write-ahead log, flusher."""
