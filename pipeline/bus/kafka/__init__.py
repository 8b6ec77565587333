"""Event bus on Apache Kafka, with FastStream and aiokafka."""
