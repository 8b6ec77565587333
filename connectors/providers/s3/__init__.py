"""The S3 connector."""
