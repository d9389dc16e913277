# Two commands matter: `make run` and `make test`. The rest is for those who change things.
PYTHON ?= python3
PORT ?= 8000
BOOTSTRAP := $(PYTHON) planner/config/bootstrap.py
.DEFAULT_GOAL := help

.PHONY: help run test check format schema bench calibrate validate lock messages
help: ## Show the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

run: ## Install what is needed, start everything, print a sign-in link (PORT=8123 moves it)
	@$(BOOTSTRAP) local -- -m planner.config.local --port $(PORT)

test: ## Install what is needed, then run the whole suite (ARGS="-k name" narrows it)
	@$(BOOTSTRAP) dev -- -m tests.suite $(ARGS)

check: ## Formatting, lint, types, imports, templates, migrations
	@$(BOOTSTRAP) dev -- -m tests.checks

format: ## Rewrite the code in the project's format
	@$(BOOTSTRAP) dev -- -m ruff format .
	@$(BOOTSTRAP) dev -- -m ruff check --fix .

schema: ## Write the OpenAPI document to build/schema.yaml
	@mkdir -p build && LOCAL_MODE=1 $(BOOTSTRAP) dev -- manage.py spectacular --file build/schema.yaml --validate

bench: ## Measure the simulators and estimates; writes build/benchmarks.json
	@$(BOOTSTRAP) dev -- -m tests.benchmarks

calibrate: ## Fit coefficients and likeness on what others measured; writes planner/catalog/data/calibrations
	@$(BOOTSTRAP) dev -- -m tests.calibration

validate: ## Compare with what others measured; writes the rows, docs/methods/validation.md, build/validation.json (ARGS="--only tpot", "--check")
	@$(BOOTSTRAP) dev -- -m tests.validation $(ARGS)

lock: ## Lock the requirements again, with hashes
	@$(BOOTSTRAP) dev -- -m tests.lock
