"""Record anew what runs give now: python tests/oracle/record.py [local] [spark] [monitor]. Takes two minutes.

Do this only with an intended change, which CHANGELOG.md says. `record.py fixtures` writes what is to be loaded ever
after: do that only when states of before need not be loaded any more. `record.py checkpoint` adds the checkpoint of a
stream that the running version of Spark wrote; stream.tar.gz is of Spark 4.3. monitor.tar.gz is
the state folder of a version that kept a state for each query: it is refused, and never written again.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import oracle_local as local
from oracle_fixtures import FIXTURES, pack, pack_folder
from oracle_records import RECORDED, Outcome, table_rows, write

sys.path[:0] = [str(Path(__file__).parents[1] / "spark")]


def record_local() -> None:
    for name, cases in {
        "counted": local.counted_cases,
        "timed": local.timed_cases,
        "policies": local.policy_cases,
    }.items():
        _write(name, {case: operator_case.run() for case, operator_case in cases().items()})
    _write("operators", {name: local.not_interrupted(case) for name, case in local.kept_cases().items()})
    (RECORDED / "moments.json").write_text(json.dumps(local.moments(), indent=1) + "\n")


def record_spark() -> None:
    import oracle_spark as on_spark

    with _session() as (spark, folder):
        _write("batches", {name: case.run(spark) for name, case in on_spark.batch_cases().items()})
        first = on_spark.new_stream(spark, folder / "first", on_spark.SAVED, on_spark.FIRST_FILES)
        whole = on_spark.new_stream(spark, folder / "kept", on_spark.SAVED)
        streams = {
            "first files": first.outcome(),
            "the other files": on_spark.without(whole, first.rows).outcome(),
            "paper, 20 sub-windows": on_spark.new_stream(spark, folder / "whole", on_spark.WHOLE).outcome(),
        }
        _write("streams", streams)
        stored = {name: on_spark.summarised(spark, name).cache() for name in on_spark.STORED}
        _write("summaries", {name: Outcome(table_rows(frame.toArrow())) for name, frame in stored.items()})
        queries = on_spark.REQUESTS.items()
        _write("windows", {name: on_spark.answered(stored[written], name) for name, (written, _, _) in queries})


def record_monitor() -> None:
    import oracle_monitor as monitor

    with _session() as (_, folder):
        for name, files in {"first": monitor.FIRST_FILES, "all": monitor.FILES}.items():
            here = folder / str(files)
            monitor.prepare(here, files)
            _write(f"monitor-{name}", monitor.outcomes(here, monitor.run(here)))


def record_fixtures() -> None:
    import oracle_spark as on_spark

    cases = local.kept_cases().items()
    pack(FIXTURES / "operators.tar.gz", {name: (local.keep(case), 0) for name, case in cases})
    shutil.copyfile(RECORDED / "summaries.json", RECORDED / "stored.json")
    with _session() as (spark, folder):
        for name in on_spark.STORED:
            on_spark.summarised(spark, name).coalesce(1).write.parquet(str(folder / name))
            file = on_spark.fixture_of(name)
            shutil.copyfile(next((folder / name).glob("part-*.parquet")), file)
            print(f"{file.name}: {file.stat().st_size:,} bytes")
        on_spark.new_stream(spark, folder / "stream", on_spark.SAVED, on_spark.FIRST_FILES)
        pack_folder(FIXTURES / "stream.tar.gz", folder / "stream")
    for archive in sorted(FIXTURES.glob("*.tar.gz")):
        print(f"{archive.name}: {archive.stat().st_size:,} bytes")


def record_checkpoint() -> None:
    import oracle_spark as on_spark

    with _session() as (spark, folder):
        on_spark.new_stream(spark, folder / "stream", on_spark.SAVED, on_spark.FIRST_FILES)
        version = ".".join(spark.version.split(".")[:2])
        pack_folder(FIXTURES / f"stream-{version}.tar.gz", folder / "stream")


@contextmanager
def _session() -> Iterator[tuple[object, Path]]:
    """The tests' own session, and a folder that goes away."""
    from local import start_session

    with tempfile.TemporaryDirectory(prefix="oracle-") as temporary:
        spark = start_session(Path(temporary) / "spark")
        try:
            yield spark, Path(temporary)
        finally:
            spark.stop()


def _write(name: str, outcomes: dict[str, Outcome]) -> None:
    write(name, outcomes)
    print(f"{name}: {len(outcomes)} cases, {sum(len(outcome.rows) for outcome in outcomes.values()):,} rows")


WHAT = {
    "local": record_local,
    "spark": record_spark,
    "monitor": record_monitor,
    "fixtures": record_fixtures,
    "checkpoint": record_checkpoint,
}

if __name__ == "__main__":
    for what in sys.argv[1:] or ("local", "spark", "monitor"):
        WHAT[what]()
