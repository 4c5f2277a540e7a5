"""Every screen, in the order of the navigation. A new one is a module in `views`, a template, and a line."""

from __future__ import annotations

from typing import Final

from streams.console.console import Screen
from streams.console.health.ranking import Scope
from streams.console.views import (
    alerts,
    audit,
    commands,
    dead_letters,
    health,
    health_detail,
    job,
    licenses,
    policy,
    session,
    session_map,
    sessions,
    settings,
)

SCREENS: Final = (
    Screen("alerts", "Alerts", "/alerts", "alerts", alerts.routes, alerts.live, needs_broker=True),
    Screen("sessions", "Sessions", "/sessions", "sessions", sessions.routes, sessions.live),
    Screen("map", "Map", "/map", "map", session_map.routes, session_map.live, needs_broker=True),
    Screen("health", "Health", "/health", "health", health.routes, health.live, needs_broker=True),
    Screen("settings", "Settings", "/settings", "settings", settings.routes, needs_broker=True),
    Screen(
        "dead-letters", "Dead letters", "/dead-letters", "letters", dead_letters.routes, needs_broker=True
    ),
    Screen("policy", "Policy", "/policy", "policy", policy.routes, needs_broker=True),
    Screen("job", "Job", "/job", "job", job.routes, needs_broker=True),
    Screen("commands", "Commands", "/commands", "commands", commands.routes, needs_broker=True),
    Screen("audit", "Audit", "/audit", "audit", audit.routes, needs_broker=True),
    *(
        Screen(
            f"health-{scope}",
            "",
            f"/health/{scope}",
            "",
            health_detail.routes_of(scope),
            health_detail.live_of(scope),
            needs_broker=True,
        )
        for scope in Scope
    ),
    Screen("licenses", "", "/licenses", "", licenses.routes),
    Screen("session", "", "/session", "", session.routes, session.live),
)
"""Those without a title are reached from others only."""
