"""Judges rules window by window, and keeps the state of every alert on disk."""
