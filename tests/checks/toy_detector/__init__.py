"""A detector as a contributor adds it: the test puts this package into `streams/core/detectors` as `echo`."""
