"""Keep the memory that a step has freed, for the next step.

Chapter: chapters/04_training.md      Tests: tests/test_heap.py

A training step asks for tens of megabytes and frees them again. The C library on Linux hands such amounts back to the
system at once, and the next step gets them page by page, each one faulted in and zeroed: a fifth of the time of a
medium-sized step. Elsewhere there is nothing to do.
"""

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h
KEPT = 2**30  # bytes of free memory at the top of the heap that stay
LARGEST = 2**25  # bytes of the largest block that comes from the heap; glibc allows no more


def keep_heap():
    """Tell glibc's malloc to keep up to a gigabyte of freed memory; return whether there was one to tell.

    It holds for the whole process, NumPy's arrays and PyTorch's tensors alike, and until its end.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(TRIM_THRESHOLD, KEPT) and mallopt(MMAP_THRESHOLD, LARGEST))
