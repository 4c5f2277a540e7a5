"""The reported metrics: how varied the tools of a session are (SEMANTICS 5.7)."""
