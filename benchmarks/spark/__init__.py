"""Benchmarks on Spark: batches, streams and the monitor, against Spark's own functions."""
