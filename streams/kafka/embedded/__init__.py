"""The embedded broker of the demo and the tests."""
