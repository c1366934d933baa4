"""Kept memory: a second round of large arrays faults hardly any page in. Counts pages, measures no time."""

import subprocess
import sys

import pytest

from mhc_np.autodiff import keep_heap

ROUNDS = """
import resource, sys
import numpy as np
from mhc_np.autodiff import keep_heap

assert sys.argv[1] == "as it is" or keep_heap()
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(2**18, np.float32) for _ in range(32)]  # 32 megabytes, 8192 pages
    del arrays
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(faults)
"""


@pytest.mark.skipif(not keep_heap(), reason="the C library is not glibc")
def test_a_later_round_finds_its_memory_in_place():
    def faults(how):
        done = subprocess.run([sys.executable, "-c", ROUNDS, how], capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert faults("kept") < 100 < 5000 < faults("as it is")
