"""Benchmarks of the live page, and the pictures of its views."""
