"""A4: four ways to look for a loop in the newest steps, and which of them to believe (SEMANTICS 5.4)."""
