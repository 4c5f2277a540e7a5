"""The settings as one document that travels whole: which there are, how they are read, and their versions."""
