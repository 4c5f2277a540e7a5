"""Layer B: is this session in a loop, told from what was called and what came of it (specification 6)."""
