# demo and test install what they need into .venv by themselves; see README.md.
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test check lint format bench clean

$(VENV)/installed: pyproject.toml constraints.txt
	python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/polyprobe demo

test: $(VENV)/installed
	$(BIN)/pytest --numprocesses 2 --dist loadfile

lint: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

check: lint test

format: $(VENV)/installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/installed
	$(BIN)/python bench/rankc.py
	$(BIN)/python bench/intervals.py
	$(BIN)/python bench/coverage.py
	$(BIN)/python bench/smollm2.py $(wildcard ../shared/upstream)
	$(BIN)/python bench/engine $(if $(PEERS),--peers $(PEERS)) $(if $(wildcard ../shared/upstream),--mirror ../shared/upstream)

clean:
	rm -rf $(VENV) build dist *.egg-info demo-run
