"""Detector A6: the adaptive budget (specification 5.6)."""
