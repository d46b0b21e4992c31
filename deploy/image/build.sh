#!/bin/sh
# Build the image with docker or podman:  ENGINE=podman BASE=… IMAGE=fumehood BUILD_OPTIONS='…' deploy/image/build.sh
# ENGINE may hold the engine's own options too; BUILD_OPTIONS are for a machine that reaches its registries in its own way.
set -eu
cd "$(dirname "$0")/../.."

engine=${ENGINE:-docker}
set --
case $engine in *podman*) set -- --format docker ;; esac # podman's own format knows no health check
[ -z "${BASE:-}" ] || set -- "$@" --build-arg "BASE=$BASE"

# shellcheck disable=SC2086 - words on purpose
exec $engine build "$@" ${BUILD_OPTIONS:-} --tag "${IMAGE:-fumehood}" .
