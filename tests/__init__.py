"""Tests, in processes that are tuned as the service's are, before anything imports its libraries."""

from app.process_tuning import tune_process

tune_process()
