"""The guard inside agents, a module for each runtime. A module needs the extra of its name."""
