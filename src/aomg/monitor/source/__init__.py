"""Reads events from files, Kafka or a generator as a streaming DataFrame with checked times."""
