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

cd "$root" && "$python" -m pytest -p no:cacheprovider --color=no "$@"
echo $? >&3
exec 3>&-
sync
echo o >/proc/sysrq-trigger
while :; do sleep 1; done
