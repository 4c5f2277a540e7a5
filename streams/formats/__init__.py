"""Other people's formats, read as DecisionLogs: JSON lines, Avro containers, trajectories, recorded messages.

`streams.formats.reading` is the door: it opens files, detects their format and yields one
`streams.core.entry.Entry` per input record.
"""
