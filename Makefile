# The verbs of this project; `make help` lists them. Set-up is done by deploy/setup and only where it is due.
# Another Python's environment must not reach ours.
unexport PYTHONHOME PYTHONPATH PYTHONPLATLIBDIR PYTHONSTARTUP PYTHONUSERBASE VIRTUAL_ENV

BIN := .venv/bin
PREPARE = python=$$(sh deploy/setup/find-python.sh) && "$$python" -E -s deploy/setup/prepare.py
ENGINE ?= docker
CORPORA ?= corpora
FUZZ_SECONDS ?= 180
BENCHMARKS := cold warm latency throughput floor callers fairness memory growth
SOAK_SECONDS ?= 3600
TEST_PROCESSES ?= 0

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev serve test fuzz test-v2 check bench bench-table bench-growth soak score lock image test-image clean

help:  ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## */\1\t/p' Makefile | expand -t 14

setup:  ## prepare .venv and the guest's runtime, and nothing else
	@$(PREPARE) service

setup-dev:  ## the same with what the tests and checks need
	@$(PREPARE) dev

serve: setup  ## serve on 127.0.0.1:8080 (ARGS="--port 9000" and the like)
	@exec $(BIN)/fumehood serve $(ARGS)

check: setup-dev  ## lint, format, types and import arrows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: check  ## everything `check` does, then the tests (ARGS="-k name" and the like; TEST_PROCESSES=2 for two at once)
	$(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist loadfile $(ARGS)

fuzz: setup-dev  ## fuzz wire, paths, HTTP and analysers (FUZZ_SECONDS=180 for all, ARGS="--seed 7")
	$(BIN)/python tests/fuzz/fuzzing.py $(FUZZ_SECONDS) $(ARGS)

test-v2: setup-dev  ## contract and attacks on a kernel of cgroup v2 alone, user-mode-linux (SUBSET=1: a part of each)
	PYTHON="$(CURDIR)/$(BIN)/python" sh tests/uml/suites.sh $(if $(SUBSET),-p subset) $(ARGS)

bench: setup-dev  ## run the benchmarks; JSON lines on standard output (ARGS=--quick for a smoke test)
	@for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py $(ARGS) || exit 1; done

bench-table: setup-dev  ## run the benchmarks and put their tables into docs/performance.md
	@mkdir -p .state
	$(MAKE) --no-print-directory -s bench >.state/bench.jsonl
	$(BIN)/python benchmarks/table.py .state/bench.jsonl docs/performance.md

bench-growth: setup-dev  ## see that the service leaks nothing over 20,000 runs
	@$(BIN)/python benchmarks/growth.py --runs 20000 $(ARGS)

soak: setup-dev  ## an hour of honest and hostile callers: nothing wrong, nothing left, memory flat (SOAK_SECONDS=300 for five minutes)
	@$(BIN)/python benchmarks/soak.py --seconds $(SOAK_SECONDS) $(ARGS)

score: setup-dev  ## hold the analyser against checkouts of other tools below CORPORA=DIR; writes docs/analysis-quality.md
	@$(BIN)/python benchmarks/score.py $(ARGS) "$(CORPORA)" docs/analysis-quality.md

lock:  ## make requirements/*.txt anew from *.in (UPGRADE=1 moves the pins)
	@python=$$(sh deploy/setup/find-python.sh) && "$$python" -E -s deploy/setup/lock.py $(if $(UPGRADE),--upgrade)

image:  ## build the container image (ENGINE=podman for podman)
	ENGINE="$(ENGINE)" sh deploy/image/build.sh

test-image:  ## run snippets over HTTP, contract and attacks in the built image, as its own user (SUBSET=1: a part of each)
	ENGINE="$(ENGINE)" sh deploy/image/smoke.sh
	ENGINE="$(ENGINE)" sh deploy/image/suites.sh $(if $(SUBSET),-p subset) $(ARGS)

clean:  ## remove what was made in this folder; runtimes outside it are shared and stay
	rm -rf .venv .state .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
