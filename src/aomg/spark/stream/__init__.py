"""Structured Streaming: the state of a shard in Spark's state store, and when windows are emitted."""
