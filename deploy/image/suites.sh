#!/bin/sh
# Run the contract and attack suites inside the built image, with its own interpreter and packages, as its own user:
#   ENGINE=podman IMAGE=fumehood BASE=… BUILD_OPTIONS='…' RUN_OPTIONS='…' deploy/image/suites.sh [pytest options]
# Inside a container no control group can be written, so it is the watch that is tested; nothing else may be lacking.
set -eu
cd "$(dirname "$0")/../.."

engine=${ENGINE:-docker}
image=${IMAGE:-fumehood}
ignored=deploy/image/tests.Dockerfile.dockerignore # docker finds it by its name
case $engine in
*podman*) paths=unmask=/proc/* for_podman="--format docker --ignorefile $ignored" ;;
*) paths=systempaths=unconfined for_podman= ;;
esac
walls=${WALLS:---cap-drop ALL --security-opt no-new-privileges --security-opt $paths \
    --security-opt apparmor=unconfined --security-opt seccomp=seccomp/container.json}

# shellcheck disable=SC2086 - words on purpose
$engine build $for_podman ${BUILD_OPTIONS:-} ${BASE:+--build-arg "BASE=$BASE"} --build-arg "IMAGE=$image" \
    --file deploy/image/tests.Dockerfile --tag "$image-suites" . >&2

suite() { # suite FOLDER [pytest options] - in a container of its own
    # shellcheck disable=SC2086
    $engine run --rm $walls --network none ${RUN_OPTIONS:-} --env PYTHONPATH=tests \
        --env FUMEHOOD_TEST_METERS=watch --env FUMEHOOD_MUST_ENFORCE=1 "$image-suites" "$@"
}

wrong=0
suite tests/contract "$@" || wrong=$?
# What only root or a control group can leave behind has nobody here who could.
suite tests/attacks "$@" \
    --deselect 'tests/attacks/test_harness.py::test_a_leftover_is_noticed[group]' \
    --deselect 'tests/attacks/test_harness.py::test_a_leftover_is_noticed[guests_file]' \
    --deselect 'tests/attacks/test_harness.py::test_a_leftover_is_noticed[process]' \
    --deselect 'tests/attacks/test_harness.py::test_a_leftover_is_noticed[segment]' || wrong=$?
exit $wrong
