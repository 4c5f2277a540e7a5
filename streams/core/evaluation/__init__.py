"""How well detectors find the repetitions that people marked: pure counting, no I/O, no clock."""
