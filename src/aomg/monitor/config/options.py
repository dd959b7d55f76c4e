"""Checks the options of Spark's sources and of Kafka's clients against a list of allowed ones.

Options that name classes to load are not allowed, nor those that the monitor sets itself.
"""

import re
from collections.abc import Callable, Collection, Mapping

from aomg.monitor.config.schema import Field, InvalidSection, Parser
from aomg.monitor.config.secret import Secret
from aomg.monitor.config.values import secret_text, table
from aomg.monitor.errors import ConfigError
from aomg.suggestions import suggestion

_FILES = ("pathGlobFilter", "recursiveFileLookup", "maxFileAge", "latestFirst", "fileNameOnly")
_TEXT_FILES = (*_FILES, "encoding", "lineSep", "locale")
_CONNECTION = tuple(
    "kafka." + name
    for name in (
        "security.protocol",
        "sasl.mechanism",
        "sasl.jaas.config",
        "sasl.kerberos.service.name",
        "ssl.protocol",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "ssl.truststore.certificates",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.key.password",
        "client.id",
        "client.rack",
        "client.dns.lookup",
        "request.timeout.ms",
        "retry.backoff.ms",
        "reconnect.backoff.ms",
        "metadata.max.age.ms",
        "connections.max.idle.ms",
    )
)
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "parquet": (*_FILES, "mergeSchema", "datetimeRebaseMode", "int96RebaseMode"),
    "csv": (
        *_TEXT_FILES,
        "header",
        "sep",
        "quote",
        "escape",
        "charToEscapeQuoteEscaping",
        "comment",
        "nullValue",
        "emptyValue",
        "nanValue",
        "positiveInf",
        "negativeInf",
        "multiLine",
        "ignoreLeadingWhiteSpace",
        "ignoreTrailingWhiteSpace",
        "maxColumns",
        "maxCharsPerColumn",
    ),
    "jsonl": (
        *_FILES,
        "lineSep",
        "allowComments",
        "allowUnquotedFieldNames",
        "allowSingleQuotes",
        "allowNumericLeadingZeros",
        "allowBackslashEscapingAnyCharacter",
        "allowUnquotedControlChars",
        "allowNonNumericNumbers",
    ),
    "kafka": (
        *_CONNECTION,
        "startingOffsets",
        "startingTimestamp",
        "startingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "failOnDataLoss",
        "maxOffsetsPerTrigger",
        "minOffsetsPerTrigger",
        "maxTriggerDelay",
        "minPartitions",
        "groupIdPrefix",
        "kafkaConsumer.pollTimeoutMs",
        "fetchOffset.numRetries",
        "fetchOffset.retryIntervalMs",
        "kafka.isolation.level",
        "kafka.session.timeout.ms",
        "kafka.fetch.min.bytes",
        "kafka.fetch.max.bytes",
        "kafka.fetch.max.wait.ms",
        "kafka.max.partition.fetch.bytes",
    ),
    "kafka sink": (
        *_CONNECTION,
        "kafka.acks",
        "kafka.compression.type",
        "kafka.linger.ms",
        "kafka.batch.size",
        "kafka.max.request.size",
        "kafka.delivery.timeout.ms",
    ),
}
_INSTEAD = {
    "maxfilespertrigger": "use files_per_batch beside options",
    "mode": "malformed rows always go to the quarantine",
    "columnnameofcorruptrecord": "malformed rows always go to the quarantine",
    "badrecordspath": "use quarantine: {folder: ...}",
    "inferschema": "list the columns and their types under columns",
    "timestampformat": "use time_format beside options",
    "timezone": "use time_zone beside options",
    "path": "write the path after the kind, as in 'csv: folder/'",
    "delimiter": "use sep",
    "charset": "use encoding",
    "kafka.bootstrap.servers": "use servers",
    "subscribe": "use topic",
    "topic": "use topic beside options",
    "kafka.group.id": "use groupIdPrefix; Spark chooses the name of the group",
}
_BOOLEAN = {
    *("recursiveFileLookup", "latestFirst", "fileNameOnly", "mergeSchema", "header", "multiLine"),
    *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "failOnDataLoss"),
    *(name for name in ALLOWED["jsonl"] if name.startswith("allow")),
}
_WHOLE = {
    *("maxColumns", "maxCharsPerColumn", "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "minPartitions"),
    *("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
}
_ENCODINGS = ("UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32")
_VALUES: tuple[tuple[Collection[str], Callable[[str], object], str], ...] = (
    (_BOOLEAN, lambda text: text.lower() in ("true", "false"), "must be true or false"),
    (_WHOLE, lambda text: re.fullmatch(r"-?\d{1,18}", text), "must be a whole number"),
    (("encoding",), lambda text: text.upper() in _ENCODINGS, f"must be {', '.join(_ENCODINGS[:-1])} or UTF-32"),
    (("quote", "escape", "comment", "charToEscapeQuoteEscaping"), lambda text: len(text) < 2, "must be one character"),
    (("sep", "lineSep"), bool, "must not be empty"),
    (
        ("datetimeRebaseMode", "int96RebaseMode"),
        lambda text: text in ("CORRECTED", "LEGACY", "EXCEPTION"),
        "must be CORRECTED, LEGACY or EXCEPTION",
    ),
    (("maxFileAge",), re.compile(r"\d{1,15}(us|ms|s|m|min|h|d)?").fullmatch, "must be a time such as 90s, 12h or 7d"),
)
"""Values that Spark would refuse only at run time: options, a check, and the message."""
_LOGIN = re.compile(
    r"\s*(org\.apache\.kafka\.common\.security\.(plain\.Plain|scram\.Scram|oauthbearer\.OAuthBearer)"
    r"|com\.sun\.security\.auth\.module\.Krb5)LoginModule\s"
)


def options(kind: str) -> Parser[dict[str, str | Secret]]:
    """Options of one kind of source or sink. Unknown ones are refused with a suggestion; values are never shown."""
    allowed = ALLOWED[kind]
    by_lower_case = {name.lower(): name for name in allowed}

    def parse(field: Field) -> dict[str, str | Secret]:
        values = table(secret_text)(field)
        entries = field.node.value
        valid = True
        for name, value in values.items():
            problem = _refusal(name, value, kind, by_lower_case)
            if problem and isinstance(entries, dict):
                valid = False
                field.problems.add(
                    ConfigError(f"the option {name[:60]!r} in {field.name} {problem}", entries[name].line)
                )
        if not valid:
            raise InvalidSection
        return values

    return parse


def _refusal(name: str, value: str | Secret, kind: str, by_lower_case: Mapping[str, str]) -> str | None:
    """The problem of an option, or None."""
    if name in by_lower_case.values():
        plain = value.reveal() if isinstance(value, Secret) else value
        if name == "kafka.sasl.jaas.config" and not _LOGIN.match(plain):
            return "must begin with Kafka's Plain, Scram or OAuthBearer, or Java's Krb5 login module"
        return next((message for names, valid, message in _VALUES if name in names and not valid(plain)), None)
    if name.lower() in by_lower_case:
        return f"must be written {by_lower_case[name.lower()]}"
    if name.lower() in _INSTEAD:
        return f"cannot be set here; {_INSTEAD[name.lower()]}"
    question = suggestion(name, by_lower_case.values(), "")
    if question:
        return f"is unknown; {question}"
    listed = [option for option in by_lower_case.values() if not option.startswith("kafka.")]
    return f"is unknown for {kind}; the options are {', '.join(listed) or ', '.join(by_lower_case.values())}"
