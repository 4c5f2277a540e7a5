"""A3: three ways to go in circles over files and commands, with memory (specification 5.3)."""
