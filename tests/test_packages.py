import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from aomg.packages import CORE, EXTRAS, PANDAS, SPARK


def at_version(monkeypatch, version):
    monkeypatch.setattr(metadata, "version", lambda name: version)


def test_the_versions_are_those_that_the_project_asks_for():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = {*project["dependencies"], *extras["spark"]}
    for package in (*CORE, *SPARK):
        assert f"{package.name}>={package.at_least}" + (f",<{package.below}" if package.below else "") in requirements
    assert extras["monitor"][0] == "aomg[spark]"
    assert {package.name for package in EXTRAS["monitor"]} == {
        *(package.name for package in SPARK),
        *extras["monitor"][1:],
    }
    assert [package.name for package in EXTRAS["web"]] == extras["web"]


def test_what_is_installed_here_is_fit():
    assert [package.fault() for package in (*CORE, *SPARK)] == [None] * 6


@pytest.mark.parametrize("version", ["2.2", "2.2.0", "2.3.3", "2.10.0rc1", "2.99"])
def test_versions_in_the_range_are_fit(monkeypatch, version):
    at_version(monkeypatch, version)
    assert PANDAS.fault() is None


@pytest.mark.parametrize(
    ("version", "fault"), [("2.1.4", "too old"), ("3", "too new"), ("3.0.0", "too new"), ("10.1", "too new")]
)
def test_versions_outside_are_not(monkeypatch, version, fault):
    at_version(monkeypatch, version)
    assert PANDAS.fault() == f"{version} is {fault}"


def test_a_missing_package_comes_with_the_command_that_installs_it(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert PANDAS.fault() == "not installed"
    assert PANDAS.install() == "pip install 'pandas>=2.2,<3'"
