"""Tries an installed wheel, with the Python that it is installed for: python smoke_test.py SOURCE [--spark].

SOURCE is the checkout: every file of its package must be in the wheel, and nothing may be loaded from it. Without
`--spark` it compiles nothing, and takes some seconds; with it, it also computes quantiles and runs a monitor.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

PROGRAM = Path(os.environ.get("AOMG", Path(sys.prefix) / "bin" / "aomg"))
MONITOR = """\
source: {generate: {stream: podsets, rate: 10000, speed: 10, events: 600k, seed: 1}, time: ts}
state: state/
queries:
  inbound: {value: rtt_us, unit: us, by: {podset: dst_podset}, size: 30s, period: 15s, lateness: 2s}
sinks: {results: [{parquet: results/}], alerts: [{jsonl: alerts.jsonl}]}
receivers: [{log: alerts.log}]
groups:
  - name: network
    rules: [{alert: Slow, query: inbound, expr: p50 > 1us}]
"""
OPERATOR = """
import aomg
results = aomg.Operator(aomg.Query(size=4000, period=1000)).push(range(4000))
assert results[-1][0.99].low <= 3959 <= results[-1][0.99].high
"""


def aomg(*arguments: str, code: int = 0) -> str:
    """Run a command in the working directory, and return what it prints."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == code, f"aomg {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr and "WARNING" not in done.stderr, done.stderr
    return done.stdout


def check_files(package: Path, source: Path) -> None:
    """Every file of the package in the checkout is installed."""
    assert source / "src" not in package.parents, f"{package} is loaded from the checkout"
    tracked = subprocess.run(
        ["git", "-C", source, "-c", "safe.directory=*", "ls-files", "src/aomg"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    files = tracked or [
        str(file.relative_to(source))
        for file in (source / "src" / "aomg").rglob("*")
        if file.is_file() and file.suffix not in (".pyc", ".nbi", ".nbc")
    ]
    missing = [file for file in files if not (package / Path(file).relative_to("src/aomg")).is_file()]
    assert files and not missing, f"not in the wheel: {missing}"
    print(f"all {len(files)} files of the package are installed in {package}")


def check_page(configuration: Path) -> None:
    """The page of a configuration is served, with each module that it imports."""
    fetch = build_opener(ProxyHandler({})).open
    command = [PROGRAM, "web", configuration, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+/", server.stdout.readline())
            assert address is not None
            page = _text(fetch, address[0])
            for path in ("api/status", *re.findall(r'(?:src|href)="/?([^":]+\.(?:js|css|svg))"', page)):
                assert fetch(address[0] + path, timeout=30).status == 200
        finally:
            server.terminate()
    print("the page is served")


def _text(fetch: object, address: str) -> str:
    with fetch(address, timeout=30) as response:  # type: ignore[operator]
        return str(response.read().decode())


def main() -> None:
    """Run all checks; an AssertionError says what is wrong."""
    source, with_spark = Path(sys.argv[1]).resolve(), "--spark" in sys.argv
    import aomg as installed

    package = Path(installed.__file__).parent
    check_files(package, source)
    with tempfile.TemporaryDirectory(prefix="aomg-smoke-") as folder:
        os.chdir(folder)
        assert aomg("--version").strip() == installed.__version__ == metadata.version("aomg")
        example = Path(shutil.copy(package / "monitor" / "example.yaml", folder))
        assert "is valid" in aomg("check", str(example))
        aomg("generate", "podsets", "--events", "1000", "--out", "events.parquet")
        aomg("query", "none", code=1)
        aomg("doctor", "--no-spark")
        check_page(example)
        if with_spark:
            subprocess.run([sys.executable, "-c", OPERATOR], check=True)
            print("quantiles of a stream are computed")
            Path("monitor.yaml").write_text(MONITOR)
            print(aomg("run", "monitor.yaml", "--once").strip().splitlines()[-1])
            print(aomg("query", "results", "--most", "2"))


if __name__ == "__main__":
    main()
