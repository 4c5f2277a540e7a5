"""Metrics, logs and health answers of a worker."""
