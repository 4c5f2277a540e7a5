"""What loops now, for a terminal: where that is read, what is chosen of it, and what keys do."""
