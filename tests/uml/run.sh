#!/bin/sh
# Run tests under a kernel whose only cgroup version is 2, on any machine and without privileges or KVM:
# user-mode-linux (Debian: apt-get install user-mode-linux) boots the machine's own file system.
#
#   PYTHON=python3 tests/uml/run.sh tests/sandbox/confine [pytest options]
#
# hostfs writes to the real disk, so everything that the tests write goes to a tmpfs inside; see init.sh.
# That kernel starts a process many times slower than the machine: it is measured, and deadlines follow (tests/here.py).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
kernel=${UML_KERNEL:-linux.uml}
python=$(command -v "${PYTHON:-python3}")
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
booted=
trap 'rm -rf "$scratch"' EXIT
# It stops for no softer signal, and its helpers do not end with it.
trap '[ -z "$booted" ] || kill -KILL -- "-$booted"; exit 143' INT TERM HUP

# The kernel's command line cannot carry arguments with blanks; a file can, and its name can.
{
    printf '%s\n' "$root" "$python" "$scratch/status"
    for argument in "$@"; do printf '%s\n' "$argument"; done
} >"$scratch/arguments"

# Newer processors have more registers than this kernel sets; without a C compiler it may not get far there.
if command -v cc >/dev/null; then
    cc -O2 -shared -fPIC -o "$scratch/xstate.so" "$here/xstate.c"
    export LD_PRELOAD="$scratch/xstate.so"
fi

TMPDIR=${UML_MEMORY_DIR:-/dev/shm} setsid "$kernel" mem="${UML_MEMORY:-3G}" rootfstype=hostfs rw quiet loglevel=2 \
    "uml_dir=$scratch" con=null con0=fd:0,fd:1 "init=$here/init.sh" "FUMEHOOD_UML=$scratch/arguments" </dev/null &
booted=$!
wait "$booted" || :
booted=
exit "$(cat "$scratch/status" 2>/dev/null || echo 70)"
