"""The hooks of coding agents: what each runs before and after a call of a tool, and how it is answered."""
