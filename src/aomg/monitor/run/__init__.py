"""Runs a configuration on Spark: the plan, each micro-batch, health, progress and the terminal view."""
