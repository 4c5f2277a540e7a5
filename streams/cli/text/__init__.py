"""How commands write: lines, tables, reports and the screen."""
