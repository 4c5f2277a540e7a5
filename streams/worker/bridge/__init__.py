"""The bridge: spans of OpenTelemetry on a topic, turned into DecisionLogs. Pure: values in, values out."""
