"""The watch over the workers: what their metrics say, now and over two days, and what is wrong by that."""
