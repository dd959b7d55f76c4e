"""Follows the files that the monitor writes: results, alerts, health and targets."""
