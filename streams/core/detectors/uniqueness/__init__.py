"""Detector A1: the share of different decisions (specification 5.1)."""
