"""``python -m streams`` is the command ``eddy``."""

from streams.cli import main

main()
