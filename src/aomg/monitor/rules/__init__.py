"""The rule language, and the kinds of rules: alert, fleet and target. Plain Python: no Spark."""
