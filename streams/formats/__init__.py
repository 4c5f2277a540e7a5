"""Files as records: logs, exports and traces of other programs, and what Eddy itself writes.

`streams.formats.reading` says which module does what on the way from a path to one
`streams.core.entry.Entry` for each record. `streams.formats.registry` lists the formats.
"""
