"""Reads stored results back, ranks keys, and displays them in a terminal."""
