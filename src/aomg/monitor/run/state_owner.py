"""Whether a state folder belongs to the queries that are asked: Spark's checkpoint fits one plan only."""

import json
from itertools import zip_longest

from aomg.errors import StateError
from aomg.monitor.atomic import put
from aomg.monitor.config.model import Config
from aomg.monitor.errors import ConfigError
from aomg.monitor.run.assembly import checkpoint_of
from aomg.query import readable

_FILE = "queries.json"


def claim_state(config: Config) -> None:
    """Write down what the state is of, or compare. Raises ConfigError that names what differs, before Spark starts.

    As long as no event was read, for whatever reason the start failed, the state is of no queries: they may change.
    """
    file = config.state / _FILE
    asked = _said(config)
    if not file.exists() or not _begun(config):
        put(file, (json.dumps(asked, indent=1) + "\n").encode())
        return
    try:
        known = [(str(name), str(said)) for name, said in json.loads(file.read_text()).items()]
    except (OSError, ValueError, AttributeError) as error:
        raise StateError(f"{file} is damaged; put it back from a copy, or begin with a new state folder") from error
    # by their places: names are for rules and results, the plan does not know them
    differing = [
        f"{now[0] or before[0]} was {readable(before[1])!r} and is {readable(now[1])!r}"
        for before, now in zip_longest(known, asked.items(), fillvalue=("", "not there"))
        if before[1] != now[1]
    ]
    if differing:
        raise ConfigError(
            f"the state folder {config.state} was written by other queries: {'; '.join(differing)}. "
            "Put them back, or give a new state folder and new folders for what is written",
            file=config.file,
        )


def _begun(config: Config) -> bool:
    """Whether Spark has noted what to read: a micro-batch, or what a source found for the first one."""
    checkpoint = checkpoint_of(config)
    return any(checkpoint.glob("offsets/[0-9]*")) or any(checkpoint.glob("sources/*/[0-9]*"))


def _said(config: Config) -> dict[str, str]:
    """What the plan depends on, in texts."""
    said = {
        f"query {name}": f"{query.query.text()}; value {query.value}; by {', '.join(query.by.values()) or 'nothing'}"
        for name, query in config.queries.items()
    }
    summaries = "stored" if config.sinks.summaries else "not stored"
    return {"source": config.source.kind, "summaries": summaries, **said}
