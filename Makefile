# The five commands. Each makes the environment first where it is missing or out of date.
PYTHON ?= python3
VENV := .venv/bin

.PHONY: demo test run check bench setup clean
setup:
	@$(PYTHON) -m config.bootstrap

demo:  ## the whole loop on real data, checked; leaves the portal running (DEMO_EXIT=1: ends)
	@$(PYTHON) -m config.bootstrap --worker
	@$(VENV)/python -m config.demo $(DEMO)

run: setup  ## the embedded stack, empty or as last left
	@$(VENV)/python -m config.supervisor

test: setup  ## the default suite: no service needed
	@$(VENV)/python -m pytest -q -n auto -m "not journey and not services" $(TESTS)

check: setup  ## format, lint, types, import contracts, contracts' artifacts, migrations, deploy settings
	@$(VENV)/python -m config.check

bench: setup  ## every program of bench/
	@$(VENV)/python -m bench $(BENCH)

clean:  ## removes what set-up made; state under var/ stays
	rm -rf .venv .venv-worker node_modules build *.egg-info
