"""Evaluates rules window by window, and stores the state of every alert."""
