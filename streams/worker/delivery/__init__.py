"""How what an epoch comes to leaves the worker: at least once or exactly once, under a lease."""
