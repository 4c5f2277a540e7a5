"""A3: three ways to go in circles over files and commands, with memory (SEMANTICS 5.3)."""
