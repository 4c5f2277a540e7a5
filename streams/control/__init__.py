"""The control loop: what people ask of agents, what guards answer, and the audit of both."""
