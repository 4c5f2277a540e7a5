"""Everything a worker needs, looked at from outside: nothing is changed, no wait is without end."""
