"""What a setting may be: ranges, maps, settings of tools, ordered groups."""
