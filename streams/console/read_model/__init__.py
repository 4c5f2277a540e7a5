"""The read model: records of Eddy's topics folded into rows, whatever order they come in. Pure."""
