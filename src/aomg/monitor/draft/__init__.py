"""Looks at data and drafts a configuration for it (`aomg init`), without Spark."""
