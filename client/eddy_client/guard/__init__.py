"""The guard: operators pause, resume and end the sessions of this process, and pass messages to them.

>>> from eddy_client import Guard  # doctest: +SKIP
>>> guard = Guard.kafka("kafka:9092", key="...")  # doctest: +SKIP
>>> with guard.session("s-17", agent_id="coder-7") as session:  # doctest: +SKIP
...     while not done:
...         notes = session.check()  # waits while paused, raises SessionAborted
"""

from eddy_client.guard.command import Budget, Note
from eddy_client.guard.control import State
from eddy_client.guard.errors import GuardUnavailable, SessionAborted
from eddy_client.guard.guard import Guard, GuardedSession

__all__ = ["Budget", "Guard", "GuardUnavailable", "GuardedSession", "Note", "SessionAborted", "State"]
