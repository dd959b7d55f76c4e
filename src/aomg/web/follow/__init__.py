"""Follows what the monitor writes: results, alerts, health and targets."""
