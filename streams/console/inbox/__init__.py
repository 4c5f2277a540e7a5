"""The alerts inbox: one row for each session that needs an operator, worst first. Pure."""

from streams.console.inbox.listing import InboxPage, many, page, tabs
from streams.console.inbox.query import Query
from streams.console.inbox.session_list import SessionPage, SessionQuery, sessions

__all__ = ["InboxPage", "Query", "SessionPage", "SessionQuery", "many", "page", "sessions", "tabs"]
