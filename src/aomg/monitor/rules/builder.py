"""Builds the rules of a configuration, checked against its queries."""

from collections.abc import Mapping

from aomg.monitor.config.model import Config, QueryConfig, RuleConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.alert import Rule
from aomg.monitor.rules.target import Target


def build(rule: RuleConfig, queries: Mapping[str, QueryConfig]) -> Rule | Target:
    """Return the rule that evaluates windows. Raises ConfigError with its line and what to do."""
    try:
        if rule.query is not None and rule.query not in queries:
            raise ConfigError(f"there is no query {rule.query!r}; the queries are {', '.join(queries)}")
        built: Rule | Target = rule.build(queries)
        return built
    except ConfigError as problem:
        raise ConfigError(f"rule {rule.name}: {problem.message}", problem.line or rule.line) from None


def check_rules(config: Config) -> tuple[Rule | Target, ...]:
    """Return the configuration's rules, built. Raises one ConfigError with up to ten problems."""
    built, problems = [], []
    for rule in config.rules:
        try:
            built.append(build(rule, config.queries))
        except ConfigError as problem:
            problems.append(problem.placed(rule.line, config.file))
    if problems:
        raise ConfigError.together(problems)
    return tuple(built)
