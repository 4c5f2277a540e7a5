"""The map: a cell for each session, in an area for each group, that stays where it is. Pure."""
