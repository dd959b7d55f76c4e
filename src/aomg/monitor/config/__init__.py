"""The configuration: reads a YAML file, checks every key with its line, and returns plain frozen values."""
