"""Measures errors, space and speed of the contenders on sources of values."""
