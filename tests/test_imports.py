"""What importing a part of the package loads: who reads results or rules needs no Spark."""

import subprocess
import sys

import pytest

ALL_OF = (
    "import pkgutil, {package}; "
    "[__import__(one.name) for one in pkgutil.walk_packages({package}.__path__, '{package}.')]"
)
LIMITS = (
    "from aomg.monitor.config.reader import EXAMPLE, load; from aomg.web.views.limits import known_rules, limits_of; "
    "config = load(EXAMPLE, environment={}); assert limits_of(config) and known_rules(config)"
)


def printed_by(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_the_package_loads_no_tables_and_no_plots_before_they_are_used():
    heavy = "{'pyarrow', 'pandas', 'polars', 'plotly', 'aomg.tables'} & set(sys.modules)"
    assert printed_by(f"import sys, aomg; aomg.Query(4, 2), dir(aomg); print({heavy})") == "set()"


def test_what_is_loaded_on_first_use_is_there():
    code = "import aomg; from aomg import *; print(plot is aomg.plot, 'plot' in dir(aomg), hasattr(aomg, 'plots'))"
    assert printed_by(code) == "True True False"


@pytest.mark.parametrize(
    "code",
    [
        "import aomg, aomg.durations, aomg.names, aomg.times",
        ALL_OF.format(package="aomg.monitor.config"),
        ALL_OF.format(package="aomg.monitor.rules"),
        ALL_OF.format(package="aomg.monitor.alerts"),
        ALL_OF.format(package="aomg.web"),
        LIMITS,
    ],
    ids=["package", "configuration", "rules", "alerts", "page", "page of a configuration"],
)
def test_no_spark_is_loaded_by(code):
    unwanted = "{'pyspark', 'aomg.spark', 'aomg.streams', 'aomg.generator'} & set(sys.modules)"
    assert printed_by(f"import sys; {code}; print({unwanted})") == "set()"


def test_the_driver_of_a_stream_loads_neither_kernels_nor_arrow():
    """Spark starts a process for every streaming query, only to ask for the names of its state."""
    heavy = "{'numba', 'pyarrow', 'aomg.spark', 'aomg.tables', 'aomg.core'} & set(sys.modules)"
    assert printed_by(f"import sys, aomg.stateful_operator; print({heavy})") == "set()"


COMMANDS_WITHOUT_EXTRAS = """
import sys
from aomg.packages import EXTRAS
modules = {package.module or package.name for packages in EXTRAS.values() for package in packages}
class Missing:
    def find_spec(name, path=None, target=None):
        if name in modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing)
from typer.testing import CliRunner
from aomg.cli import app
for line in sys.argv[1:]:
    result = CliRunner().invoke(app, line.split())
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    print(result.exit_code, result.stderr.strip())
"""


def test_commands_without_their_extra_say_what_to_install():
    monitor = "pyspark, pandas, protobuf and PyYAML"
    page = "starlette, uvicorn, plotly and prometheus-client"
    expected = {
        "query none": "1 cannot show results: there is no folder none; name the one that the parquet sink writes to",
        "compact none": "1 cannot compact: there is no folder none",
        "generate none": "1 cannot generate: ",
        "check none.yaml": "1 cannot run: the package PyYAML is missing; run: pip install 'aomg[monitor]'",
        "fsck none": "2 cannot check: the package pyspark is missing; run: pip install 'aomg[monitor]'",
        "run none.yaml": f"1 cannot run: the packages {monitor} are missing; run: pip install 'aomg[monitor]'",
        "demo --no-web": f"1 cannot run the demo: the packages {monitor} are missing; run: pip install 'aomg[monitor]'",
        "demo": (
            f"1 cannot run the demo: the packages {monitor.replace(' and', ',')}, {page} are missing; "
            "run: pip install 'aomg[monitor,web]'"
        ),
        "web none": (
            f"1 cannot serve the page: the packages {page.replace(' and', ',')} and PyYAML are missing; "
            "run: pip install 'aomg[web]'"
        ),
    }
    lines = printed_by(COMMANDS_WITHOUT_EXTRAS, *expected).splitlines()
    assert len(lines) == len(expected)
    for line, text in zip(lines, expected.values(), strict=True):
        assert line.startswith(text)
