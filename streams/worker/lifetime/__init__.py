"""When the state of a session goes away, and who removes it."""
