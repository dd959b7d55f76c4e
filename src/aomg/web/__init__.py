"""The live page: reads what the sinks wrote, answers over HTTP, and never talks to Spark."""
