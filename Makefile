# Every target can be run again at any moment and does only what is left to do.
STACK ?= lab
python := .venv/bin/python
on_path = PATH="$(CURDIR)/.venv/bin:$$($(python) -m tools.bootstrap --print-path):$$PATH"

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv up preview down outputs recover bundle sweep test lint unit engine lab faults bench report schema lock mirror
# Python of ours must not meet packages of another.
unexport PYTHONPATH

help: ## what can be done
	@sed -n 's/^\([a-z ]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 24

venv: ## the pinned Python packages, in .venv
	@tools/venv.sh

up: venv ## bring the fleet up, STACK=lab by default
	@$(python) -m tools.bootstrap --stack $(STACK)
	@$(python) -m tools.drive up $(STACK)

preview down outputs: venv ## show what would change; take the fleet away; print the outputs, secrets shown
	@$(python) -m tools.drive $@ $(STACK)

recover: venv ## clear up after a run of STACK that was killed; OPTIONS=--owner-is-dead as it says itself
	@$(on_path) $(python) -m lifecycle recover --stack $(STACK) $(OPTIONS)

bundle: venv ## all that can be seen of STACK in one archive without secrets
	@$(on_path) $(python) -m lifecycle bundle --stack $(STACK)

sweep: venv ## remove what exists of STACK when its state is lost; it asks first, OPTIONS=--yes does not
	@$(on_path) $(python) -m lifecycle sweep --stack $(STACK) $(OPTIONS)

test: lint unit engine lab ## all of the tests

lint: venv ## formatter, linters and types
	@.venv/bin/ruff check --quiet && .venv/bin/ruff format --check --quiet
	@.venv/bin/mypy .
	@PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/ansible-lint -q --offline playbooks

unit: venv ## tests without root or network
	@$(python) -m pytest --numprocesses=auto tests/unit tests/contract

engine: venv ## tests with the real Pulumi engine, without root
	@$(on_path) $(python) -m pytest --numprocesses=auto tests/engine

lab: venv ## tests on real lab hosts, as root; but for the longest faults
	@$(python) -m tools.bootstrap --if-possible
	@$(on_path) $(python) -m pytest tests/lab -m 'not long'

faults: venv ## every fault of docs/faults.md that is made on real lab hosts, and all else that takes long
	@$(python) -m tools.bootstrap --if-possible
	@status=0; $(on_path) RACKSTACK_STARTS=20 $(python) -m pytest tests/lab/faults || status=1; \
	$(on_path) $(python) -m pytest tests/lab --ignore=tests/lab/faults -m long || status=1; exit $$status

bench: venv ## the figures of docs/benchmarks.md; fails above a limit
	@$(python) -m tools.bootstrap
	@status=0; $(python) -m tools.bench || status=1; \
	$(on_path) $(python) -m tests.lab.emulated.bench || status=1; exit $$status

report: venv ## the plan of STACK on stdout, FORMAT=md by default, svg or json
	@$(python) -m tools.report '$(STACK)' '$(or $(FORMAT),md)'

schema: venv ## the stack file's JSON schema, from the models
	@$(python) -m stacks.config.schema >stacks/fleet.schema.json

lock: venv ## look up the pins that STACK lacks; without STACK resolve every lock anew
	@$(python) -m tools.lock $(if $(filter-out file,$(origin STACK)),'$(STACK)')

mirror: venv ## fill a wheel mirror from the locks of ENGINE, below DIR or in the cache
	@$(python) -m tools.mirror '$(ENGINE)' $(if $(DIR),--dir '$(DIR)')
