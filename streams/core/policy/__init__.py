"""From signals to judgement."""
