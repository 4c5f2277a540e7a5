"""Spans of OpenTelemetry: what each says of an agent, and the records of a trace."""
