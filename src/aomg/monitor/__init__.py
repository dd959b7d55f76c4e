"""The monitor: from a stream of telemetry to an alarm that can be believed.

Reading the files in the order of the data: `config` (what is asked), `sources`, `rows`, `rules`, `judge`, `sinks`,
`notify`, and `pipeline`, which puts them together. Importing this package loads none of them, and no Spark.
"""
