"""The steps of a session as a person compares them: letters, rounds, folds, differences. Pure."""
