#!/bin/sh
# Start the built image as it is meant to be run, and run snippets in it over HTTP, as its own non-root user.
#   ENGINE=podman IMAGE=fumehood RUN_OPTIONS='…' deploy/image/smoke.sh
# The request is made inside the container, so it needs no published port. WALLS replaces the security options.
set -eu
cd "$(dirname "$0")/../.."

engine=${ENGINE:-docker}
image=${IMAGE:-fumehood}
case $engine in
*podman*) paths=unmask=/proc/* ;;
*) paths=systempaths=unconfined ;;
esac
walls=${WALLS:---cap-drop ALL --security-opt no-new-privileges --security-opt $paths \
    --security-opt apparmor=unconfined --security-opt seccomp=seccomp/container.json}
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
name=fumehood-smoke-$$

# shellcheck disable=SC2086 - words on purpose
$engine run --detach --name "$name" $walls ${RUN_OPTIONS:-} --env FUMEHOOD_API_KEY="$key" \
    --env FUMEHOOD_MAY_LACK=cgroup "$image" >/dev/null
trap '[ $? = 0 ] || $engine logs "$name" 2>&1 | tail -n 20 >&2; $engine rm --force --volumes "$name" >/dev/null' EXIT

uid=$($engine exec "$name" id -u)
[ "$uid" != 0 ] || {
    echo "the service runs as root" >&2
    exit 1
}
$engine exec --interactive "$name" python3 -I - "$key" <deploy/image/smoke.py
echo "image $image: ok (as uid $uid)"
