"""The monitor: from a stream of telemetry to an alarm that can be believed.

The packages in the order of the data: `config` (what is asked), `source`, `rules`, `alerts`, `sinks`, `delivery`, and
`run`, which puts them together; `results` reads back what was stored. Importing this package loads none of them.
"""
