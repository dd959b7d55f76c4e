import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from aomg.caches import cache_directory, is_writable, kernel_cache

nowhere = Path(os.devnull) / "directory"  # even root cannot make it


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_caches_are_where_the_user_wants_them(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "aomg"
    assert (tmp_path / "aomg").is_dir()


def test_without_a_writable_home_they_are_among_the_temporary_files(homeless):
    assert cache_directory() == homeless / f"aomg-{os.getuid()}"
    assert cache_directory().stat().st_mode & 0o777 == 0o700


def test_a_directory_that_others_can_write_is_not_used(homeless):
    foreign = homeless / f"aomg-{os.getuid()}"
    foreign.mkdir()
    foreign.chmod(0o777)
    used = cache_directory()
    assert used != foreign and used.is_relative_to(homeless)
    assert used.stat().st_mode & 0o777 == 0o700


def test_a_link_to_another_directory_is_not_used(homeless, tmp_path_factory):
    target = tmp_path_factory.mktemp("target")
    target.chmod(0o700)
    (homeless / f"aomg-{os.getuid()}").symlink_to(target)
    assert cache_directory() not in (target, homeless / f"aomg-{os.getuid()}")


def test_writable_is_found_out_by_writing(tmp_path):
    assert is_writable(tmp_path / "new" / "one")
    assert not is_writable(nowhere)
    assert not list((tmp_path / "new" / "one").iterdir())


def test_compiled_kernels_are_where_numba_says():
    cache = kernel_cache()
    assert cache is not None and is_writable(cache)
    named = os.environ.get("NUMBA_CACHE_DIR")
    assert cache.is_relative_to(named) if named else cache.name


def test_the_package_can_be_imported_where_numba_finds_no_place_for_kernels(tmp_path):
    """As in a container with a read-only file system and no home: here Numba is left without its own places."""
    code = (
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = [c.UserProvidedCacheLocator]\n"
        "import aomg, aomg.caches\n"
        "print(aomg.caches.kernel_cache())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path / "aomg" / "kernels")


def test_importing_the_package_imports_no_backend():
    backends = {"pyspark", "pyarrow", "pandas", "datasketches", "typer", "rich", "starlette", "uvicorn", "plotly"}
    code = f"import sys, aomg; print(sorted({backends!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"
