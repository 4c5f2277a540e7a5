"""For each rule and level the shortest sequence of records that triggers it, made from the settings."""
