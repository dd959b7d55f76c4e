"""The live page: reads the files that the sinks write and serves them over HTTP; never uses Spark."""
