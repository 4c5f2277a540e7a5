"""A detector as a contributor adds it: the test puts this package below `streams/detectors`, as `echo`."""
