import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from http_listener import HANG_UP, SLOW, listening
from programs import ALERTMANAGER, needs
from samples import MINUTE, NOON, JournaledNotifier, alert, quick_disk, record_of

from aomg.monitor.config.secret import Secret
from aomg.monitor.delivery.alertmanager import Alertmanager
from aomg.monitor.delivery.base import NotDelivered
from aomg.monitor.delivery.command import Command
from aomg.monitor.delivery.log import Log
from aomg.monitor.delivery.webhook import Webhook
from aomg.monitor.errors import ConfigError

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def failure(receiver, one=None) -> NotDelivered:
    with pytest.raises(NotDelivered) as caught:
        receiver.deliver(record_of(one or alert()))
    assert caught.value.__cause__ is None, "a cause would show the address in a traceback"
    return caught.value


# -- HTTP --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "final"),
    [
        *((answer, True) for answer in (400, 413, 422)),
        *((answer, False) for answer in (401, 403, 404, 405, 407, 410, 408, 425, 429, 500, 503, 302)),
    ],
)
def test_only_an_answer_about_the_alert_itself_is_final(answer, final):
    """A token that has expired, a proxy that says 404 during a redeploy, a typo: the alert is good, and waits."""
    with listening(lambda number: answer) as receiver:
        error = failure(Webhook(receiver.url))
    assert error.final == final and f"answered {answer}" in str(error)
    somebody_has_to_mend_it = answer in (401, 403, 404, 405, 407, 410, 302)
    assert error.needs_fix == somebody_has_to_mend_it
    assert ("fix them and restart" in str(error)) == (somebody_has_to_mend_it and answer != 302)


def test_a_receiver_may_ask_for_time():
    with listening(lambda number: 429, headers={"Retry-After": "17"}) as receiver:
        assert failure(Webhook(receiver.url)).wait == 17


def test_no_answer_and_no_receiver_are_failures_that_may_pass():
    with listening(lambda number: HANG_UP if number else SLOW) as receiver:
        assert "no response in time" in str(failure(Webhook(receiver.url, timeout=0.2)))
        assert "closed without a response" in str(failure(Webhook(receiver.url)))
        url = receiver.url
    error = failure(Webhook(url, timeout=2))
    assert "Connection refused" in str(error) and not error.final


def test_a_redirect_leads_nobody_away():
    with listening() as other, listening(lambda number: 307, headers={"Location": other.url + "/x"}) as receiver:
        for answer in (301, 302, 303, 307, 308):
            receiver.answer = lambda number, answer=answer: answer
            error = failure(Webhook(receiver.url, {"Authorization": "Bearer hunter2"}))
            assert "redirects are not followed" in str(error)
        assert not other.heard and len(receiver.heard) == 5


def test_user_info_becomes_a_header_and_no_secret_is_ever_shown():
    secrets = ["hunter2", "s3cr3t", "T0KEN", "Zm9vYmFyYmF6cXV4MTIz"]
    with listening(lambda number: 400, body=" ".join(secrets).encode()) as receiver:
        url = receiver.url.replace("http://", "http://me:hunter2@") + "/hooks/Zm9vYmFyYmF6cXV4MTIz?token=s3cr3t"
        hook = Webhook(url, {"X-Key": Secret("T0KEN")}, timeout=2)
        messages = [str(failure(hook)), repr(hook)]
        (heard,) = receiver.heard
        assert heard.headers["Authorization"] == "Basic bWU6aHVudGVyMg==" and heard.headers["X-Key"] == "T0KEN"
        assert heard.path == "/hooks/Zm9vYmFyYmF6cXV4MTIz?token=s3cr3t"
    messages.append(str(failure(hook)))
    assert "hooks/***" in messages[1] and all(secret not in text for secret in secrets for text in messages)


def test_what_is_shown_of_an_address_tells_which_it_is():
    assert repr(Webhook("https://me@alerts.example.com:8443/team/hook")) == (
        "webhook https://alerts.example.com:8443/team/hook"
    )
    assert repr(Alertmanager("http://alertmanager.example.com:9093")) == (
        "alertmanager http://alertmanager.example.com:9093/api/v2/alerts"
    )


def test_an_address_that_is_none_is_refused_without_being_shown():
    for url in ("ftp://host/x", "file:///etc/passwd", "http://", "hunter2", "http://host/a b"):
        with pytest.raises(ConfigError) as caught:
            Webhook(url)
        assert "hunter2" not in str(caught.value)


def test_alertmanager_is_told_labels_annotations_and_times():
    with listening() as receiver:
        manager = Alertmanager(receiver.url + "/")
        manager.deliver(record_of(alert("firing", podset="17", end=NOON - 10**15)))
        manager.deliver(record_of(alert("resolved", podset="17", end=NOON - 10**15 + MINUTE)))
        manager.deliver(record_of(alert("resolved", end=4_000_000_000_000_000)))  # event time is ahead of the clock
        manager.repeat([record_of(alert(podset=str(number))) for number in range(250)])
    assert {one.path for one in receiver.heard} == {"/api/v2/alerts"}
    (firing,), (resolved,), (ahead,) = (one.json for one in receiver.heard[:3])
    assert firing["labels"] == {
        "alertname": "SwitchFault",
        "alertgroup": "network",
        "podset": "17",
        "severity": "page",
    }
    assert firing["labels"] == resolved["labels"] and "podset 17 is faulty" in firing["annotations"]["summary"]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    assert firing["startsAt"] < resolved["endsAt"] < now < firing["endsAt"]
    assert ahead["startsAt"] <= ahead["endsAt"] <= now
    assert [len(one.json) for one in receiver.heard[3:]] == [100, 100, 50]
    assert receiver.heard[0].headers["Idempotency-Key"] == firing["annotations"]["aomg_id"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@needs(ALERTMANAGER)
def test_a_real_alertmanager_shows_a_firing_alert_until_it_is_resolved(tmp_path):
    config = tmp_path / "alertmanager.yml"
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    url = f"http://127.0.0.1:{free_port()}"
    command = [ALERTMANAGER.path, f"--config.file={config}", f"--storage.path={tmp_path / 'data'}"]
    command += [f"--web.listen-address={url.removeprefix('http://')}", "--cluster.listen-address="]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def active() -> list[dict]:
        with urllib.request.urlopen(f"{url}/api/v2/alerts?active=true", timeout=5) as answer:
            return json.loads(answer.read())

    try:
        notifier = JournaledNotifier(tmp_path / "outbox", [Alertmanager(url)])  # it may not listen yet
        now = int(time.time()) * 1_000_000
        notifier.send(0, [alert("pending", "1", now), alert("firing", "17", now), alert("firing", "18", now)])
        assert notifier.close(30) == {}
        shown = {one["labels"]["podset"]: one for one in active()}
        assert set(shown) == {"17", "18"} and shown["17"]["status"]["state"] in ("active", "unprocessed")
        assert shown["17"]["annotations"]["aomg_id"] == alert("firing", "17", now).id
        notifier = JournaledNotifier(tmp_path / "outbox", [Alertmanager(url)])
        notifier.send(1, [alert("resolved", "17", now + 1, started=now - MINUTE, fired=now)])
        assert notifier.close(30) == {}
        assert [one["labels"]["podset"] for one in active()] == ["18"]
    finally:
        process.terminate()
        process.wait(30)


# -- commands ----------------------------------------------------------------------------------------------------------


def script(tmp_path, text: str) -> list[str]:
    file = tmp_path / "it.py"
    file.write_text(text)
    return [sys.executable, "-S", "-E", str(file)]


def test_a_command_gets_the_alert_on_its_input_and_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKA_PASSWORD", "hunter2")
    monkeypatch.setenv("LC_TIME", "C")
    out = tmp_path / "out"
    text = (
        f"import sys, os, json; json.dump([sys.argv[1:], sys.stdin.read(), dict(os.environ)], open({str(out)!r}, 'w'))"
    )
    command = Command([*script(tmp_path, text), "{{ $alert }}: {{$labels.podset}}", "$(reboot) ; {{ $transition }}"])
    command.deliver(record_of(alert()))
    arguments, given, environment = json.loads(out.read_text())
    assert arguments == ["SwitchFault: 17", "$(reboot) ; firing"]
    assert json.loads(given) == json.loads(json.dumps(record_of(alert())))
    assert "KAFKA_PASSWORD" not in environment and environment["LC_TIME"] == "C" and "PATH" in environment


def test_telemetry_cannot_become_an_option_of_the_command(tmp_path):
    out = tmp_path / "out"
    text = f"import sys, json; json.dump(sys.argv[1:], open({str(out)!r}, 'w'))"
    arguments = [*script(tmp_path, text), "{{ $labels.podset }}", "--podset={{ $labels.podset }}", "{{ $labels.no }}"]
    Command(arguments).deliver(record_of(alert(podset="--delete\x00all")))
    assert json.loads(out.read_text()) == [" --delete\ufffdall", "--podset=--delete\ufffdall", ""]


def test_a_command_that_fails_or_does_not_end_is_told_so(tmp_path):
    failing = Command([*script(tmp_path, "import sys; print('no desk', file=sys.stderr); sys.exit(3)"), "hunter2"])
    assert str(failure(failing)).endswith("exited with code 3: no desk") and "hunter2" not in str(failure(failing))
    mark = tmp_path / "mark"
    text = f"import os, time; os.fork() and open({str(mark)!r}, 'w').write(str(os.getpgid(0))); time.sleep(60)"
    assert "took longer than 1 s and was killed" in str(failure(Command(script(tmp_path, text), timeout=1)))
    if mark.exists():  # on a busy machine it may not have come so far
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                os.killpg(int(mark.read_text()), 0)
            except ProcessLookupError:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("what the command started is still there")


def test_commands_that_cannot_run_are_refused_at_once():
    with pytest.raises(ConfigError, match="must be a list"):
        Command("rm -rf")
    with pytest.raises(ConfigError, match="'no-such-program' was not found; install it"):
        Command(["no-such-program"])
    for place in ("{{ $value }}", "{{ $labels }}", "{{ $alert.name }}"):
        with pytest.raises(ConfigError, match="is unknown in a command; the values are"):
            Command(["true", place])


# -- the log -----------------------------------------------------------------------------------------------------------


def test_the_log_has_a_line_for_each_alert(tmp_path):
    file = tmp_path / "logs" / "alerts.log"
    log = Log(file)
    log.deliver(record_of(alert(annotations={"summary": "line\nbreak \x1b[31m"})))
    with file.open("a") as raw:
        raw.write("torn")
    log.deliver(record_of(alert("resolved")))
    first, torn, second = file.read_text().splitlines()
    assert first == (
        f"2026-11-16T12:00:00Z firing SwitchFault {{podset=17, severity=page}} line break  [31m id={alert().id}"
    )
    assert torn == "torn" and second.startswith("2026-11-16T12:00:00Z resolved SwitchFault")


def test_a_log_that_cannot_be_written_is_tried_again(tmp_path):
    (tmp_path / "file").write_text("")
    assert not failure(Log(tmp_path / "file" / "alerts.log")).final
