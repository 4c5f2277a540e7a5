"""What Eddy asks of the brokers, without Faust: topics, records, settings."""
