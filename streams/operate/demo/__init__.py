"""`eddy demo`: a broker, two workers and recorded sessions on this machine, and what came of them."""
