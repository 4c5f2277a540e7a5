"""A5: how far a session has drifted from its goal, from five signals (SEMANTICS 5.5)."""
