import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner
from web.local_server import SECONDS, event_data, wait_until
from web.monitor_files import monitor_files

from aomg import cli
from aomg.errors import AomgError
from aomg.monitor import command as monitor_command
from aomg.monitor.config.reader import EXAMPLE
from aomg.web import child, command
from aomg.web.child import page_of
from aomg.web.http import server
from aomg.web.http.access import AccessError
from aomg.web.http.server import PORT, ServerError, address_of, listening
from aomg.web.places import PlaceError

TOKEN = "correct-horse-battery-staple"
runner = CliRunner(env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    return monitor_files(tmp_path_factory.mktemp("made"), keys=3, windows=3)


@contextmanager
def started(*arguments: str, **more):
    """A child process, whose first line is the address; killed if it does not end."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_a_taken_port_is_left_for_the_next_one_unless_it_was_asked_for(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        port = chosen.getsockname()[1]
        monkeypatch.setattr(server, "PORT", port)
        with listening("127.0.0.1", None) as bound:
            assert port < bound.getsockname()[1] <= port + 10
        with pytest.raises(ServerError, match=f"port {port} is already in use; .*--port 0"):
            listening("127.0.0.1", port)
        monkeypatch.setattr(server, "_MORE_PORTS", 0)
        with pytest.raises(ServerError, match="all in use; give --port 0"):
            listening("127.0.0.1", None)


def test_any_free_port_can_be_asked_for():
    with listening("127.0.0.1", 0) as one, listening("127.0.0.1", 0) as other:
        assert one.getsockname()[1] != other.getsockname()[1]
        assert address_of("127.0.0.1", one) == f"http://127.0.0.1:{one.getsockname()[1]}/"
        assert address_of("0.0.0.0", one).startswith("http://127.0.0.1:")
        assert address_of("::1", one).startswith("http://[::1]:")


def test_the_port_is_the_one_that_is_documented():
    assert PORT == 8765


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_of_another_machine_is_an_error_that_says_what_to_do(host):
    with pytest.raises(ServerError, match="not an address of this machine; give --host"):
        listening(host, 0)


def test_tokens_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv(command.TOKEN, raising=False)
    assert command.token_of(None) is None
    monkeypatch.setenv(command.TOKEN, TOKEN)
    assert command.token_of(None).reveal() == TOKEN
    file = tmp_path / "token"
    file.write_text("another-token-of-a-file\n")
    assert command.token_of(file).reveal() == "another-token-of-a-file"
    file.write_text("\n")
    with pytest.raises(AccessError, match="is empty"):
        command.token_of(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(AccessError, match="cannot be read"):
        command.token_of(file)
    with pytest.raises(AccessError, match="cannot be read"):
        command.token_of(tmp_path / "none")


def test_memory_is_written_as_people_do():
    assert command.memory_of("1GB") == 1 << 30
    assert command.memory_of(" 512 MiB ") == 512 << 20
    assert command.memory_of("20000000") == 20_000_000
    for wrong in ("", "much", "1EB", "-1GB", "1KB", "0"):
        with pytest.raises(AomgError, match="512MB"):
            command.memory_of(wrong)


def test_what_cannot_be_served_is_an_error_before_anything_listens(monitor, tmp_path, monkeypatch):
    monkeypatch.delenv(command.TOKEN, raising=False)
    answer = []
    with pytest.raises(PlaceError):
        command.serve(tmp_path / "none", report=answer.append)
    with pytest.raises(AccessError, match="--token-file"):
        command.serve(monitor.file, host="0.0.0.0", port=0, report=answer.append)
    assert answer == []


def test_the_page_is_served_by_a_child_and_ends_with_the_block(monitor):
    answer = []
    with page_of(monitor.results, 0, answer.append) as address:
        assert httpx.get(f"{address}api/status", trust_env=False).json()["title"] == "results"
        with httpx.stream("GET", f"{address}api/events", trust_env=False) as stream:
            lines = stream.iter_lines()
            event_data(lines)
            port = int(address.rstrip("/").rsplit(":", 1)[1])
    assert answer == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), SECONDS)


def test_a_child_that_cannot_serve_is_told_of_once(tmp_path):
    answer = []
    with page_of(tmp_path / "none", 0, answer.append) as address:
        assert address is None
    assert len(answer) == 1
    assert "cannot be served: " in answer[0]
    assert "The monitor runs on" in answer[0]


def test_a_child_that_dies_is_told_of_once_and_stops_nobody(monitor, monkeypatch):
    children = []
    really = subprocess.Popen

    def popen(*arguments, **more):
        children.append(really(*arguments, **more))
        return children[-1]

    monkeypatch.setattr(child.subprocess, "Popen", popen)
    answer, heard = [], threading.Event()
    with page_of(monitor.results, 0, lambda text: (answer.append(text), heard.set())) as address:
        assert address is not None
        children[0].kill()
        assert heard.wait(SECONDS)
    assert len(answer) == 1
    assert "the page ended" in answer[0]


def test_a_child_that_says_nothing_is_not_waited_for_forever(monitor, monkeypatch):
    really = subprocess.Popen
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    monkeypatch.setattr(child, "START_SECONDS", 0.1)
    monkeypatch.setattr(child.subprocess, "Popen", lambda command, **more: really(silent, **more))
    answer = []
    with page_of(monitor.file, 0, answer.append) as address:
        assert address is None
    assert len(answer) == 1
    assert "did not start" in answer[0]


def test_the_child_gets_the_token_by_the_environment_alone(monitor, monkeypatch):
    monkeypatch.setenv(command.TOKEN, TOKEN)
    with page_of(monitor.results, 0, print) as address:
        assert httpx.get(f"{address}api/status", trust_env=False).status_code == 401
        known = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.get(f"{address}api/status", headers=known, trust_env=False).status_code == 200
        arguments = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # other processes end meanwhile
                arguments.append(file.read_bytes())
        assert not [one for one in arguments if TOKEN.encode() in one]


def test_the_child_ends_when_its_parent_is_killed(monitor, tmp_path):
    """As by SIGKILL, of which nobody is told."""
    code = (
        "import sys; from pathlib import Path; from aomg.web.child import page_of\n"
        f"with page_of(Path({str(monitor.results)!r}), 0, print) as address:\n"
        "    print(address, flush=True); sys.stdin.read()"
    )
    with started("-c", code) as parent:
        address = parent.stdout.readline().strip()
        port = int(address.rstrip("/").rsplit(":", 1)[1])
        assert httpx.get(f"{address}api/status", trust_env=False).status_code == 200
        parent.kill()
        parent.wait(SECONDS)
        wait_until(lambda: not _answers(port))


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_the_command_though_a_viewer_looks(monitor, sign):
    code = "from aomg.cli import app; app()"
    with started("-c", code, "web", str(monitor.results), "--port", "0") as process:
        line = process.stdout.readline().strip()
        assert line.startswith("the page is at http://127.0.0.1:")
        address = line.removeprefix("the page is at ")
        with httpx.stream("GET", f"{address}api/events", trust_env=False, timeout=SECONDS) as stream:
            lines = stream.iter_lines()
            event_data(lines)
            process.send_signal(sign)
            assert process.wait(SECONDS) in (0, 130, -sign)
        output, errors = process.communicate()
        assert "Traceback" not in output + errors


def test_the_command_line_tells_what_is_wrong_and_ends(tmp_path, monkeypatch):
    monkeypatch.delenv(command.TOKEN, raising=False)
    (tmp_path / "results").mkdir()
    for arguments, message in (
        ([str(tmp_path / "none")], "does not exist"),
        ([str(tmp_path)], "is not a folder of results"),
        ([str(tmp_path / "results"), "--host", "0.0.0.0"], "a token is needed"),
        ([str(tmp_path / "results"), "--memory", "much"], "512MB"),
        ([str(tmp_path / "results"), "--token-file", str(tmp_path / "none")], "cannot be read"),
    ):
        result = runner.invoke(cli.app, ["web", *arguments])
        assert result.exit_code == 1, result.output
        assert message in result.stderr
        assert "cannot serve the page" in result.stderr
    assert runner.invoke(cli.app, ["web", str(tmp_path), "--port", "70000"]).exit_code == 2


def test_as_many_series_as_asked_for_are_told_and_the_others_counted(monitor):
    code = "from aomg.cli import app; app()"
    with started("-c", code, "web", str(monitor.results), "--port", "0", "--most-series", "40") as process:
        address = process.stdout.readline().strip().removeprefix("the page is at ")
        lines: list[str] = []

        def answer() -> bool:
            lines[:] = httpx.get(f"{address}metrics", trust_env=False).text.splitlines()
            return any(line.startswith("aomg_window_keys{") for line in lines)

        wait_until(answer)
        of_keys = [line for line in lines if line.startswith("aomg_") and "podset=" in line]
        left_out = [float(line.split()[-1]) for line in lines if line.startswith("aomg_series_left_out{")]
        assert 0 < len(of_keys) <= 40 and sum(left_out) > 0
    assert runner.invoke(cli.app, ["web", str(monitor.results), "--most-series", "0"]).exit_code == 2


@pytest.fixture
def pages(monkeypatch):
    """What would be served, instead of serving it."""
    requested = []

    @contextmanager
    def page(place, port, tell):
        requested.append((Path(place), port))
        yield "http://127.0.0.1:1/"

    monkeypatch.setattr(child, "page_of", page)
    return requested


def test_the_monitor_prints_the_address_of_its_page_and_runs(monitor, monkeypatch, pages):
    ran = []
    monkeypatch.setattr(monitor_command, "run", lambda console, config, *remainder: ran.append(config))
    result = runner.invoke(cli.app, ["run", str(monitor.file), "--web", "--port", "0"])
    assert result.exit_code == 0, result.output
    assert "the page is at http://127.0.0.1:1/" in result.output
    assert pages == [(monitor.file, 0)]
    assert ran == [monitor.file]
    assert runner.invoke(cli.app, ["run", str(monitor.file)]).exit_code == 0
    assert len(pages) == 1


def test_with_json_standard_output_is_for_the_document_alone(monitor, monkeypatch, pages):
    monkeypatch.setattr(monitor_command, "run", lambda *remainder: print("{}"))
    result = runner.invoke(cli.app, ["run", str(monitor.file), "--web", "--json"])
    assert result.stdout == "{}\n"
    assert "the page is at" in result.stderr


def test_a_wrong_configuration_is_told_once_and_no_page_is_started(tmp_path, pages):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("source: 1\n")
    result = runner.invoke(cli.app, ["run", str(wrong), "--web"])
    assert result.exit_code == 2
    assert pages == []


def test_a_port_without_a_page_is_refused(monitor):
    result = runner.invoke(cli.app, ["run", str(monitor.file), "--port", "1234"])
    assert result.exit_code == 2
    assert "--web" in result.stderr


def test_the_demo_has_a_page_and_leaves_nothing_behind_unless_told(tmp_path, monkeypatch, pages):
    ran = []

    def demo(console, example):
        ran.append(example)
        (example.parent / "state").mkdir()
        assert example.read_text() == EXAMPLE.read_text()
        return True

    monkeypatch.setattr(monitor_command, "demo", demo)
    result = runner.invoke(cli.app, ["demo"])
    assert result.exit_code == 0, result.output
    assert "the page is at" in result.output
    assert not ran[0].parent.exists()
    assert pages == [(ran[0], None)]
    stored = tmp_path / "kept"
    result = runner.invoke(cli.app, ["demo", "--no-web", "--keep", str(stored)])
    assert result.exit_code == 0, result.output
    assert (stored / "state").is_dir()
    assert f"aomg web {stored / 'example.yaml'}" in result.output
    assert len(pages) == 1
    assert runner.invoke(cli.app, ["demo", "--keep", str(stored)]).exit_code == 2
    assert len(ran) == 2


def test_a_demo_that_finds_less_than_there_is_fails(monkeypatch, pages):
    monkeypatch.setattr(monitor_command, "demo", lambda console, example: False)
    assert runner.invoke(cli.app, ["demo"]).exit_code == 1


def test_without_the_packages_of_the_page_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "starlette", None)
    result = runner.invoke(cli.app, ["web", str(tmp_path)])
    assert result.exit_code == 1
    message = "cannot serve the page: the package starlette is missing; run: pip install 'aomg[web]'"
    assert result.stderr.strip() == message


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), SECONDS):
            return True
    except ConnectionRefusedError:
        return False
