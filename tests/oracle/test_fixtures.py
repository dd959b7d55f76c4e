"""The stored fixtures are small, load on any machine, and do not name the machine that wrote them."""

import re

import pytest
from oracle_fixtures import FIXTURES, contents_of
from oracle_local import go_on, kept_cases
from oracle_records import RECORDED, compare, read

SAVED = kept_cases()


@pytest.fixture(scope="module")
def operators():
    return contents_of(FIXTURES / "operators.tar.gz")


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_operator_continues_as_if_it_had_never_stopped(operators, name):
    compare(go_on(SAVED[name], operators[name]), read("operators")[name])


def test_every_saved_operator_is_loaded(operators):
    assert set(operators) == set(SAVED)


def test_fixtures_name_no_folder_of_the_machine_that_wrote_them():
    for archive in FIXTURES.glob("*.tar.gz"):
        for name, content in contents_of(archive).items():
            assert not re.search(rb"file:/*(?!@)\w|/(tmp|home|root|Users|var|work|private)/", content), (archive, name)


def test_fixtures_and_records_are_small():
    assert sum(file.stat().st_size for folder in (FIXTURES, RECORDED) for file in folder.iterdir()) < 1_500_000
