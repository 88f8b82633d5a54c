from types import SimpleNamespace

import pytest
from numba.core import event

from dpmosaic.curator.mechanisms.mosaic import one_way
from dpmosaic.curator.pgm.fitting import descent
from dpmosaic.curator.pgm.inference import belief_propagation
from dpmosaic.curator.pgm.rows import counting, sampling, sweeps
from dpmosaic.simulations import rehearsal
from dpmosaic.simulations.rehearsal import compiling_beside, rehearse

KERNELS = [
    belief_propagation.pass_messages,
    belief_propagation.write_belief,
    counting._add,
    one_way._forward_backward,
    descent._direction,
    sampling._count,
    sampling._deal,
    sampling._fill,
    sampling._shuffle,
    sweeps._choose,
]


def test_a_rehearsal_runs_every_kernel_except_the_search_for_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise AssertionError("the release compiles this one")

    monkeypatch.setattr("dpmosaic.curator.pgm.structure.elimination.search_orders", refuse)
    rehearse()
    assert all(kernel.signatures for kernel in KERNELS)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("cores", "started"), [(1, 0), (2, 1)])
def test_the_first_compilation_starts_another_process_where_there_is_a_second_core(
    cores: int, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes: list[object] = []

    class Process:
        def __init__(self, **_: object) -> None:
            processes.append(self)

        def start(self) -> None:
            pass

        def terminate(self) -> None:
            processes.append(None)

    monkeypatch.setattr(rehearsal, "cores", lambda: cores)
    monkeypatch.setattr(rehearsal.multiprocessing, "get_context", lambda _: SimpleNamespace(Process=Process))
    with compiling_beside():
        assert not processes
        for _ in range(2):
            with event.trigger_event("numba:compile"):
                assert len(processes) == started
    assert len(processes) == 2 * started
