"""Eddy: which agent sessions go in circles, and why."""
