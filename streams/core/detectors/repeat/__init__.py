"""Detector A2: the consecutive repeat (specification 5.2)."""
