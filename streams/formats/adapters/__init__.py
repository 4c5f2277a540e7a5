"""Formats of other programs, read as DecisionLogs: one module a format, all behind `adapter.Adapter`.

Pure: no clock, no file, no network. `registry` lists the formats, `sniffing` finds the one that fits.
"""
