"""What has to be in place before a worker starts."""
