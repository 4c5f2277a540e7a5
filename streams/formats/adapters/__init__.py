"""Formats of other programs, read as DecisionLogs: one module a format, all behind `adapter.Adapter`.

Pure: no clock, no file, no network. `streams.formats.registry` lists them.
"""
