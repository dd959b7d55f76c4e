"""Delivers notifications to receivers at least once: Alertmanager, webhook, command, log."""
