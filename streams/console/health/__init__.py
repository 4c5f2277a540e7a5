"""How agents and tools fare: their ranking, and their samples as series. Pure."""
