#!/bin/sh
# Prints the path of a real Python (no shim, no virtual environment), 3.11 or newer, that can make and fill a virtual
# environment. PYTHON=… names one. Where there is none, one sentence says which Debian package mends it.
# PATH is searched for python3, then for the versions by name: an old python3 must not hide a newer python3.12.

base='import os, sys
if sys.version_info < (3, 11):
    sys.exit("%d.%d" % sys.version_info[:2])
print(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))'
fit='from importlib.util import find_spec
import sys
sys.exit(not (find_spec("venv") and (find_spec("ensurepip") or find_spec("pip"))))'

old='' bare=''
set -- python3 python3.13 python3.12 python3.11 python3.14 /usr/bin/python3
[ -z "$PYTHON" ] || set -- "$PYTHON"
for name; do
    command -v "$name" >/dev/null 2>&1 || continue
    if path=$("$name" -I -c "$base" 2>/dev/null); then
        if "$path" -I -c "$fit" 2>/dev/null; then
            printf '%s\n' "$path"
            exit 0
        fi
        bare=${bare:-$path}
    else
        found=$("$name" -I -c "$base" 2>&1 >/dev/null)
        case $found in [23].*) old=${old:-"$name is $found"} ;; esac
    fi
done

if [ -n "$bare" ]; then
    version=$("$bare" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    echo "fumehood: $bare can neither make a virtual environment nor run pip; install the Debian package python$version-venv." >&2
elif [ -n "$old" ]; then
    echo "fumehood: Python 3.11 or newer is needed and $old; install the Debian package python3.11-venv or newer." >&2
elif [ -n "$PYTHON" ]; then
    echo "fumehood: PYTHON=$PYTHON is not a Python that runs." >&2
else
    echo "fumehood: Python 3.11 or newer is needed and none was found; install the Debian package python3-venv." >&2
fi
exit 1
