"""The operator console: which sessions go in circles, why, and the buttons that stop them."""
