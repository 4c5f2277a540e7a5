"""Whether the worker lives and is ready, and what stands in its way."""
