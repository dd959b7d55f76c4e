"""What others say of the configuration holds none of its secrets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.monitor.config.reader import load
from aomg.monitor.config.secret import Secret, address, without_secrets
from aomg.monitor.run.failures import explained

CONFIGURATION = """
source:
  kafka: {servers: "${BROKERS}", topic: rtts}
  time: ts
  columns: {ts: long, v: double}
  options: {kafka.sasl.jaas.config: "${LOGIN}", kafka.security.protocol: SASL_SSL}
state: state/
queries: {q: {value: v, size: 1m, period: 1m}}
sinks: {alerts: [{kafka: {servers: "broker-9:9092", topic: t, options: {kafka.ssl.key.password: k3yp4ss}}}]}
receivers:
  - {webhook: "https://me:w3bh00k@hooks.example.org/alerts?key=qu3ry", headers: {Authorization: "Bearer ${TOKEN}"}}
"""
ENVIRONMENT = {
    "BROKERS": "user:hunter2@broker-1:9092,broker-2:9092",
    "LOGIN": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="s3cr3t";',
    "TOKEN": "t0k3n",
}
SECRETS = ["hunter2", "s3cr3t", "t0k3n", "k3yp4ss", "w3bh00k", "qu3ry", "broker-1", "broker-2"]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    file = tmp_path_factory.mktemp("secrets") / "aomg.yaml"
    file.write_text(CONFIGURATION)
    return load(file, environment=ENVIRONMENT)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "[STREAM_FAILED] Query terminated\n"
            "kafka.common.config.ConfigException: Invalid url in bootstrap.servers: user:hunter2@broker-1:9092\n",
            "kafka.common.config.ConfigException: Invalid url in bootstrap.servers: ***",
        ),
        (
            f"[STREAM_FAILED] Query terminated with {ENVIRONMENT['LOGIN']}",
            "[STREAM_FAILED] Query terminated with ***",
        ),
        ("aomg.errors.InputError: no broker at broker-2:9092", "no broker at ***"),
        ("Caused by: the key password k3yp4ss does not fit", "Caused by: the key password *** does not fit"),
    ],
)
def test_what_spark_says_of_a_failure_is_told_without_secrets(config, message, expected):
    assert explained(message, config).removesuffix(f" (more in {config.state / 'spark.log'})") == expected


@given(st.data())
def test_no_secret_of_a_configuration_is_left_wherever_it_stands(config, data):
    secret = data.draw(st.sampled_from(SECRETS + list(ENVIRONMENT.values())))
    around = st.text("ab :@/,\"'\n[", max_size=10)
    message = "".join(data.draw(st.sampled_from(["", "java.lang.Exception: ", "[X] "])) + data.draw(around))
    message += secret + data.draw(around) + data.draw(st.sampled_from(["", secret])) + data.draw(around)
    assert all(one not in explained(message, config) for one in SECRETS)


def test_a_secret_is_gone_before_a_long_line_is_cut(config):
    assert "hunt" not in explained("[X] " + "x" * 492 + " user:hunter2@broker-1:9092", config)


def test_what_is_no_secret_of_an_address_stays():
    hook = address("https://me:hunter2@hooks.example.org/alerts?key=abc")
    message = without_secrets(
        "https://me:hunter2@hooks.example.org/alerts?key=abc and https://hooks.example.org", [hook]
    )
    assert message == "https://hooks.example.org/alerts and https://hooks.example.org"
    assert without_secrets("https://hooks.example.org/a is down", [address("https://hooks.example.org/a")]) == (
        "https://hooks.example.org/a is down"
    )


def test_a_text_of_one_or_two_characters_is_not_looked_for():
    assert without_secrets("a message", {"password": Secret("e"), "pin": Secret("12")}) == "a message"
