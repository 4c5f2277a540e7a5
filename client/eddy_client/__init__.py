"""For agents: send to Eddy what they do, read its alerts, and obey its operators.

>>> from eddy_client import Eddy
>>> eddy = Eddy(None, agent="coder-7", file="/dev/null")
>>> with eddy.session("s-1") as session:
...     with session.tool("shell", {"command": "make"}) as step:
...         step.result = "done"
>>> eddy.close()
>>> eddy.stats.sent
2
"""

from eddy_client.alert import Alert
from eddy_client.alerts import alerts
from eddy_client.eddy import Eddy
from eddy_client.guard import Guard, GuardUnavailable, SessionAborted
from eddy_client.session import Session, Step
from eddy_client.stats import Stats

__all__ = [
    "Alert",
    "Eddy",
    "Guard",
    "GuardUnavailable",
    "Session",
    "SessionAborted",
    "Stats",
    "Step",
    "alerts",
]
