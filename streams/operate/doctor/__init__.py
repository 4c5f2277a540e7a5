"""Everything a worker needs, checked from outside: nothing is changed, every wait has an end."""
