"""Samples a Kafka topic: the newest messages of each partition, through a client in Python.

Nothing is committed and no group is joined, so other readers of the topic notice nothing.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aomg.monitor.draft.json_sample import objects_of, sample_of_objects
from aomg.monitor.draft.sample import Sample
from aomg.monitor.errors import ConfigError

_MOST_MESSAGES = 10_000
_LONGEST = 10.0  # seconds
_ADDRESS = re.compile(r"kafka://(?P<servers>[^/\s]+)/(?P<topic>[A-Za-z0-9._-]{1,249})/?")


@dataclass(frozen=True)
class Topic:
    """A topic, and the servers that have it."""

    servers: str
    name: str


def topic_of(data: str) -> Topic | None:
    """The topic of an address such as kafka://127.0.0.1:9092/rtts; None if it is no address.

    >>> topic_of("kafka://a:9092,b:9092/rtts"), topic_of("telemetry/")
    (Topic(servers='a:9092,b:9092', name='rtts'), None)
    """
    if "://" not in data:
        return None
    match = _ADDRESS.fullmatch(data)
    if match is None or "@" in data:
        raise ConfigError(
            f"{data.rpartition('@')[2][:200]!r} is no topic; write kafka://HOST:PORT/TOPIC, a file or a folder. For "
            "servers that need a login, write some messages to a file of JSON lines, run aomg init on it, and replace "
            "the source"
        )
    servers = [server if ":" in server else f"{server}:9092" for server in match["servers"].split(",")]
    return Topic(",".join(servers), match["topic"])


def topic_sample(topic: Topic) -> Sample:
    """Sample the newest messages. Raises ConfigError if there is no client, no server, or no JSON object."""
    try:
        from kafka import KafkaConsumer
        from kafka.errors import KafkaError
    except ModuleNotFoundError:
        raise ConfigError(
            "looking at a topic needs a Kafka client, which is missing; run: pip install 'aomg[kafka]'"
        ) from None
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=topic.servers.split(","), enable_auto_commit=False, bootstrap_timeout_ms=10_000
        )
        try:
            runs = newest_messages(consumer, topic.name)
        finally:
            consumer.close()
    except (KafkaError, OSError, ValueError) as error:
        raise ConfigError(
            f"cannot read {topic.name} from {topic.servers} ({error or type(error).__name__}); check the address, and "
            "that the server runs"
        ) from None
    objects = [objects_of(messages) for messages in runs]
    if not any(objects):
        content = "no messages" if not any(runs) else "no message that is a JSON object"
        raise ConfigError(f"the topic {topic.name} has {content}; the monitor reads JSON objects")
    sample = sample_of_objects("kafka", objects)
    sample.options = {"startingOffsets": "earliest"}
    return sample


def newest_messages(consumer: Any, name: str) -> Sequence[Sequence[bytes]]:
    """The newest messages of each partition, as many as can be had in ten seconds."""
    from kafka import TopicPartition

    numbers = consumer.partitions_for_topic(name)
    if not numbers:
        raise ConfigError(f"there is no topic {name} on this server; check the name")
    partitions = [TopicPartition(name, number) for number in sorted(numbers)]
    consumer.assign(partitions)
    begins, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    share = max(_MOST_MESSAGES // len(partitions), 1)
    wanted = {partition: min(ends[partition] - begins[partition], share) for partition in partitions}
    for partition, number in wanted.items():
        consumer.seek(partition, ends[partition] - number)
    messages: dict[Any, list[bytes]] = {partition: [] for partition in partitions}
    until = time.monotonic() + _LONGEST
    while time.monotonic() < until and any(len(messages[part]) < wanted[part] for part in partitions):
        polled = consumer.poll(timeout_ms=500)
        for partition, records in polled.items():
            messages[partition] += [record.value for record in records if record.value is not None]
        done = all(consumer.position(partition) >= ends[partition] for partition in partitions)
        if done:
            break
    return [messages[partition][: wanted[partition]] for partition in partitions]
