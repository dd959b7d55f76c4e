import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from web.monitor_files import monitor_files

from aomg.monitor.errors import ConfigError
from aomg.web.places import PlaceError, places


def test_a_folder_of_results_is_a_place_without_alerts(tmp_path):
    monitor = monitor_files(tmp_path, keys=2, windows=2)
    result = places(monitor.results)
    assert result.results == monitor.results
    assert result.title == "results"
    assert (result.config, result.alerts, result.state, result.targets, result.summaries) == (None,) * 5


def test_a_configuration_names_all_places_whether_they_are_there_or_not(tmp_path):
    monitor = monitor_files(tmp_path, keys=2, windows=0, summaries=True)
    result = places(monitor.file)
    assert result.title == "monitor"
    assert result.results == monitor.results
    assert result.alerts == monitor.alerts
    assert result.summaries == tmp_path / "summaries"
    assert result.state == monitor.state
    assert result.targets == monitor.state / "targets.json"


def test_a_folder_that_is_not_there_is_an_error_that_says_what_to_give(tmp_path):
    with pytest.raises(PlaceError, match=r"none does not exist; give the folder that the parquet sink writes to"):
        places(tmp_path / "none")


def test_an_empty_folder_is_waited_for(tmp_path):
    (tmp_path / ".lock").touch()
    assert places(tmp_path).results == tmp_path


def test_a_file_is_no_place(tmp_path):
    file = tmp_path / "batch.parquet"
    file.touch()
    with pytest.raises(PlaceError, match="is a file; give the folder"):
        places(file)


def test_a_folder_beside_the_results_says_which_was_meant(tmp_path):
    monitor = monitor_files(tmp_path, keys=2, windows=2)
    with pytest.raises(PlaceError, match=r"no day=\.\.\. folders; did you mean .*results"):
        places(tmp_path)
    with pytest.raises(PlaceError, match="give the folder that the parquet sink writes to"):
        places(monitor.state)


def test_a_folder_with_nothing_but_a_configuration_says_that_it_was_meant(tmp_path):
    (tmp_path / "aomg.yaml").touch()
    with pytest.raises(PlaceError, match=r"did you mean .*aomg\.yaml"):
        places(tmp_path)


def test_a_folder_of_days_with_other_rows_is_no_folder_of_results(tmp_path):
    day = tmp_path / "day=2024-05-01"
    day.mkdir()
    pq.write_table(pa.table({"query": ["a"], "taxi": [1]}), day / "batch-0000000001.parquet")
    with pytest.raises(PlaceError, match="has no column 'labels'"):
        places(tmp_path)


def test_a_damaged_file_does_not_keep_the_others_from_being_shown(tmp_path):
    monitor = monitor_files(tmp_path, keys=2, windows=2)
    day = next(monitor.results.glob("day=*"))
    (day / "batch-0000009999.parquet").write_bytes(b"PAR1 no")
    assert places(monitor.results).results == monitor.results


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_an_error(tmp_path):
    tmp_path.chmod(0)
    try:
        with pytest.raises(PlaceError, match="permissions"):
            places(tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_a_configuration_without_parquet_results_says_what_to_add(tmp_path):
    monitor = monitor_files(tmp_path, keys=2, windows=0)
    text = monitor.file.read_text()
    monitor.file.write_text(text.replace("[{parquet: results/}]", "[{jsonl: results.jsonl}]"))
    with pytest.raises(PlaceError, match=r"results: \[\{parquet: results/\}\]"):
        places(monitor.file)


def test_a_wrong_configuration_is_told_with_its_line(tmp_path):
    monitor = monitor_files(tmp_path, keys=2, windows=0)
    monitor.file.write_text(monitor.file.read_text().replace("every: 2 seconds", "evry: 2 seconds"))
    with pytest.raises(ConfigError, match=r"line \d+"):
        places(monitor.file)


def test_who_looks_needs_no_secret_of_the_receivers(tmp_path, monkeypatch):
    monkeypatch.delenv("HOOK_URL", raising=False)
    monitor = monitor_files(tmp_path, keys=2, windows=0)
    hook = '  - webhook: "${HOOK_URL}"\n    headers: {Authorization: "Bearer ${HOOK_TOKEN}"}\n'
    monitor.file.write_text(monitor.file.read_text().replace("  - log: alerts.log\n", "  - log: alerts.log\n" + hook))
    assert places(monitor.file).results == monitor.results


def test_a_configuration_without_the_packages_of_the_monitor_says_what_to_install(tmp_path, monkeypatch):
    monitor = monitor_files(tmp_path, keys=2, windows=0)
    monkeypatch.setitem(sys.modules, "yaml", None)
    for name in [name for name in sys.modules if name.startswith("aomg.monitor.config.")]:
        if not name.endswith((".model", ".secret")):  # what the page's own modules hold already
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(PlaceError, match=r"package yaml; run: pip install 'aomg\[monitor\]'"):
        places(monitor.file)


def test_a_folder_is_served_without_spark_and_without_the_readers_of_configurations():
    code = (
        "import sys; import aomg.web.http.server, aomg.web.command; "
        "print([name for name in ('pyspark', 'typer', 'aomg.monitor.config.yaml_lines') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "[]"
