"""A5: how far a session has drifted from its goal, from five signals (specification 5.5)."""
