"""Counts across sessions: agent health, task profiles, and what a session contributes to them."""
