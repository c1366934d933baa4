"""Where a grid is run: processes of this machine, or the workers of a Dask cluster.

Chapter: chapters/15_the_question.md      Tests: tests/test_grid.py
"""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

from mhc_np.lab.experiment import UsageError

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def processes(num_workers):
    """Return a maker of process pools whose workers have one BLAS thread each.

    The workers are started afresh, not forked: a fork would take over the threads' number that NumPy has settled on.
    """
    if num_workers < 1:
        raise UsageError(f"want at least one worker, got {num_workers}")

    def make():
        for name, value in ONE_THREAD.items():
            os.environ.setdefault(name, value)
        return ProcessPoolExecutor(num_workers, mp_context=multiprocessing.get_context("spawn"))

    return make


def cluster(address):
    """Connect to a Dask scheduler.

    Parameters
    ----------
    address : str
        As in ``tcp://127.0.0.1:8786``. Its workers must be able to import `mhc_np`, in the same version, and should
        have one BLAS thread each.

    Returns
    -------
    (make, num_workers, close)
        A maker of executors, as `processes` returns one; how many cells the cluster can work on at once; and the
        function that ends the connection. A worker that dies is the cluster's affair: its cells go to another one.

    Raises
    ------
    UsageError
        If ``distributed`` is not installed, or nobody answers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError('--scheduler needs dask.distributed: pip install -e ".[lab]"') from error
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {address} ({error})") from error
    num_workers = max(1, sum(client.nthreads().values()))
    return lambda: client.get_executor(pure=False), num_workers, client.close
