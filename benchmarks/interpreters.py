"""Whether the interpreter's version matters to a fork server: pages that a forked child copies, and its time.

Each interpreter that is named on the command line (one at least) forks children that run ``print(1)``, one after
another, without walls. Pages are minor faults (getrusage(2)), the median of all children.
"""

from __future__ import annotations

import argparse
import json
import subprocess

import contest

CHILDREN = 200
PROGRAM = """
import gc, os, resource, sys, time
gc.collect(); gc.freeze(); gc.disable()
quiet, seen = os.open("/dev/null", os.O_WRONLY), []
for _ in range(int(sys.argv[1])):
    near, far = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(quiet, 1)
        began, before = time.perf_counter(), resource.getrusage(0).ru_minflt
        exec(compile("print(1)", "main.py", "exec"), {"__name__": "__main__"})
        sys.stdout.flush()
        faults = resource.getrusage(0).ru_minflt - before
        os.write(far, b"%d %d" % (faults, (time.perf_counter() - began) * 1e9))
        os._exit(0)
    os.close(far)
    seen.append([int(word) for word in os.read(near, 99).split()])
    os.close(near)
    os.waitpid(pid, 0)
faults, took = (sorted(each)[len(seen) // 2] for each in zip(*seen))
print('{"version": "%s", "faults": %d, "p50_ms": %.3f}' % (sys.version.split()[0], faults, took / 1e6))
"""


def main() -> None:
    """Measure, and say it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("interpreters", nargs="+", metavar="PYTHON")
    for each in parser.parse_args().interpreters:
        argv = [each, "-I", "-S", "-c", PROGRAM, str(CHILDREN)]
        told = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
        contest.say({"name": f"interpreter: {told.pop('version')}", "count": CHILDREN, **told})


if __name__ == "__main__":
    main()
