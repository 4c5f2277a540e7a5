"""A4: four ways to look for a loop in the newest steps, and which of them to believe (specification 5.4)."""
