"""Dead letters, read back: what they are, whether they would be accepted now, and sending them again."""
