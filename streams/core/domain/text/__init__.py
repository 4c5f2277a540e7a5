"""Texts as Eddy reads and keeps them: bounded, normalised, cut into tokens, printable."""
