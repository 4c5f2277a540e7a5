"""What stands in Faust's places: transport, consumer thread, recovery and services."""
