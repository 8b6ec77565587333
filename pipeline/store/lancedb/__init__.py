"""LanceDB access: codecs, compaction, secondary indexes, sharded reads."""
