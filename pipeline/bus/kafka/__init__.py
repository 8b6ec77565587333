"""The bus on Apache Kafka: FastStream for what it does well, aiokafka where it has no call."""
