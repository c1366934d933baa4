"""``python -m mhc_np``: list, run, show, check, bench, grid, ledger, kept.

One BLAS thread, unless the environment says otherwise: several threads stall each other as soon as another job wants a
core, and a sum's rounding would depend on their number. It must be said before NumPy is imported.
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from mhc_np.lab.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
