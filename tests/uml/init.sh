#!/bin/sh
# The first process inside user-mode-linux: mount what a machine has, run pytest, leave its status, power off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8
export PYTHONDONTWRITEBYTECODE=1 FUMEHOOD_MUST_ENFORCE=1

{
    read -r root
    read -r python
    read -r status
    set --
    while read -r argument; do set -- "$@" "$argument"; done
} <"$FUMEHOOD_UML"
exec 3>"$status" # opened before /tmp is covered by a tmpfs

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
# Only after the arguments are read: they may lie in /tmp.
mkdir /run/kept # the repository may lie there too, and stays where it is
mount --bind "$root" /run/kept
mount -t tmpfs tmpfs /tmp
mkdir -p "$root"
mount --bind /run/kept "$root"
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up 2>/dev/null

cd "$root"
# The shortest deadline of the suites, 0.3 s, is to be as long as four interpreters need to start, one after the other.
seconds=$("$python" tests/uml/probe.py)
FUMEHOOD_PACE=$(echo "$seconds" | awk '{ pace = 4 * $1 / 0.3; printf "%.1f", (pace > 1 ? pace : 1) }')
export FUMEHOOD_PACE
echo "an interpreter starts in $seconds s here: deadlines are $FUMEHOOD_PACE times as long"
echo "absent from this kernel: x32, int 0x80, Landlock, IPv6"
PYTHONPATH=tests "$python" -m pytest -p no:cacheprovider --color=no "$@"
echo $? >&3
exec 3>&-
sync
echo o >/proc/sysrq-trigger
while :; do sleep 1; done
