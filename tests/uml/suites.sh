#!/bin/sh
# The contract and the attacks under user-mode-linux, each in a kernel of its own, both at once: such a kernel has one
# processor. What the first says is seen at once, what the second says after it.
#
#   PYTHON=python3 tests/uml/suites.sh [pytest options]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
heard=$(mktemp)
attacks=
trap 'rm -f "$heard"' EXIT
trap '[ -z "$attacks" ] || kill "$attacks"; exit 143' INT TERM HUP

sh "$here/run.sh" tests/attacks "$@" >"$heard" 2>&1 &
attacks=$!
wrong=0
sh "$here/run.sh" tests/sandbox/confine/test_cgroup.py tests/sandbox/confine/test_cgroup_places.py \
    tests/sandbox/confine/test_cgroup_sweep.py tests/sandbox/confine/test_cgroup_limits.py \
    tests/contract "$@" || wrong=$?
wait "$attacks" || wrong=$?
attacks=
cat "$heard"
exit "$wrong"
