import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching
from numpy.typing import NDArray

from dpmosaic.curator.pgm import compiled as module
from dpmosaic.curator.pgm.compiled import compiled, folder_of


def total(values: NDArray[np.float64]) -> float:
    found = 0.0
    for value in values:
        found += value
    return found


def test_a_compiled_function_gives_what_python_gives() -> None:
    values = np.arange(10.0)
    assert compiled(total)(values) == total(values)


def test_infinities_and_nan_keep_their_meaning() -> None:
    assert compiled(total)(np.array([np.inf, 1.0])) == np.inf
    assert np.isnan(compiled(total)(np.array([np.inf, -np.inf])))


def test_the_folder_of_the_cache_is_named() -> None:
    made = compiled(total)
    made(np.ones(3))
    folder = folder_of(made)
    assert folder is not None
    assert list(folder.glob("*total*.nbi"))


def test_functions_are_compiled_even_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    made = compiled(total)
    assert made(np.ones(3)) == 3.0
    assert folder_of(made) is None


SLOWLY = """
import sys, time
from numba.core import event
from dpmosaic.curator.pgm.compiled import compiled

class Slow(event.Listener):
    def on_start(self, event):
        print("compiling", flush=True)
        time.sleep(1)
    def on_end(self, event):
        pass

@compiled
def twice(value):
    return 2 * value

event.register("numba:compile", Slow())
assert twice(int(sys.argv[1])) == 2 * int(sys.argv[1])
"""


@pytest.mark.slow
def test_processes_that_share_a_cache_compile_a_function_once(tmp_path: Path) -> None:
    script = tmp_path / "slowly.py"
    script.write_text(SLOWLY)
    several = [
        subprocess.Popen([sys.executable, script, str(number)], stdout=subprocess.PIPE) for number in range(3)
    ]
    said = b"".join(process.communicate()[0] for process in several)
    assert [process.returncode for process in several] == [0, 0, 0]
    assert said == b"compiling\n"


def test_a_process_that_compiles_for_too_long_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "_COMPILING_S", 0.0)
    held = module._lock_file(tmp_path / "lock")
    assert held is not None
    with held:
        assert module._lock_file(tmp_path / "lock") is None
    free = module._lock_file(tmp_path / "lock")
    assert free is not None
    free.close()


def test_functions_are_compiled_where_files_cannot_be_locked(tmp_path: Path) -> None:
    assert module._lock_file(tmp_path / "missing" / "lock") is None
