"""The bus: one port, an embedded log and (beyond one machine) Kafka."""
