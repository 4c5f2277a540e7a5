"""Automatic policies at work: their versions, what they decided, and what would have come of it."""
