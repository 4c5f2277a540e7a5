"""Values and pure functions; the standard library only."""
