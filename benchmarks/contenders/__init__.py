"""The same job on four engines, each a program of its own: `python -m benchmarks.contenders.NAME`."""
