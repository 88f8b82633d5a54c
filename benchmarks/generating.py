"""Rows of finished releases written to files: rows per second, and the peak memory of the process.

Each file has its own process, which first draws a thousand rows, so that compilation is not counted. Seconds
of processor time are those of all threads; on two idle cores a run takes about half of them.

Run: python benchmarks/generating.py ROWS RELEASE...
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

from dpmosaic.curator.analysis.drawing import Drawing, generate_rows
from dpmosaic.curator.analysis.published import Published
from dpmosaic.curator.analysis.row_files import write_rows
from dpmosaic.curator.results.table_format import TableFile, TableFormat

WARM_UP = 1000


def measure(release: str, rows: int, table_format: TableFormat) -> tuple[float, float, float, float]:
    """Seconds, seconds of processor time, size of the file and peak memory in MiB."""
    warnings.simplefilter("ignore", UserWarning)
    published = Published.load(release)
    generate_rows(published, WARM_UP, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / table_format.file
        started, used = time.perf_counter(), time.process_time()
        made = Drawing.of(published, rows)
        write_rows(made, path, TableFile(table_format), (), lambda written: None)
        elapsed, used = time.perf_counter() - started, time.process_time() - used
        size = path.stat().st_size / 2**20
    return elapsed, used, size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Prints one line for each release and format."""
    rows, releases = int(float(sys.argv[1])), sys.argv[2:]
    print(
        f"{'release':<24} {'format':<8} {'rows':>10} {'s':>8} {'CPU s':>8} {'rows/s':>10} {'rows/CPU s':>10} "
        f"{'file MiB':>9} {'peak MiB':>9}"
    )
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for release in releases:
            for table_format in TableFormat:
                elapsed, used, size, peak = pool.apply(measure, (release, rows, table_format))
                print(
                    f"{Path(release).name:<24} {table_format:<8} {rows:>10} {elapsed:>8.1f} {used:>8.1f} "
                    f"{rows / elapsed:>10.0f} {rows / used:>10.0f} {size:>9.0f} {peak:>9.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
