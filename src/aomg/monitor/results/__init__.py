"""Reads stored results, ranks keys, and displays them in a terminal."""
