"""The detectors: small objects that look at one record after another. They never import one another."""
