"""Recorded sessions to look at: what `eddy demo` replays and what the documentation shows.

The files beside this module are JSON lines of DecisionLogs, one session each, except ``broken.jsonl``, which
keeps whole messages (`streams.formats.recorded_messages`). `streams.formats.recordings.catalogue` says what
each one shows, and plays them back as the messages of a topic.
"""
