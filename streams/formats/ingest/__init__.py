"""`eddy ingest`: what agents write to files, carried on as DecisionLogs, at least once and in order."""
