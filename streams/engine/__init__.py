"""The job on Faust: the only package, with the composition root, that knows faust, mode and aiokafka."""
