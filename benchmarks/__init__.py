"""Benchmarks, one file per question. Rivals take turns in one run, and a speed is a ratio of their times."""
