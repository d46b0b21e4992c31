"""Pools of threads that are all there from the start, so that nothing fails later for want of one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor


def started(count: int, name: str) -> ThreadPoolExecutor:
    """Give a pool whose threads have all begun.

    A pool that starts its threads when they are needed takes in the work first: where the machine refuses a thread the
    caller is told so, and the work is done all the same, later and for nobody.

    Raises:
        RuntimeError: the machine gives no more threads.
    """
    pool = ThreadPoolExecutor(count, thread_name_prefix=name)
    together = threading.Barrier(count)
    try:
        for _ in range(count):
            pool.submit(together.wait)
    except BaseException:
        together.abort()
        pool.shutdown(wait=False)
        raise
    return pool
