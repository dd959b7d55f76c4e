"""The monitor: reads telemetry, computes quantiles of every key, evaluates rules, and delivers alerts.

The packages in the order of the data: `config`, `source`, `rules`, `alerts`, `sinks`, `delivery`, and `run`, which
connects them; `results` reads stored results. `registry.py` lists the kinds of rules, sinks and receivers. Importing
this package loads none of them.
"""
