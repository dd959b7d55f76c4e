"""Structured Streaming: what a shard keeps in Spark's state store, and when it answers."""
