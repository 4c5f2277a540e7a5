"""Alerts as requests, one module for each kind of receiver. Pure: an alert in, bytes to send out."""
