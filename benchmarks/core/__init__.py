"""Benchmarks of one process: speed, accuracy and space of the core, and the speed of the generated streams."""
