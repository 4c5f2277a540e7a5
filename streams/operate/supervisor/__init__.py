"""`eddy worker --processes N`: one process that starts workers, passes signals on, and ends when one ends."""
