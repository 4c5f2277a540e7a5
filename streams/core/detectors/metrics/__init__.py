"""The reported metrics: how varied the tools of a session are (specification 5.7)."""
