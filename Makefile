.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# Kernels are compiled once and shared by the tests, the demo and the benchmarks.
export NUMBA_CACHE_DIR := $(CURDIR)/$(VENV)/.numba-cache
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test package wheel test-spark spark-version bench bench-spark against revision evaluation pictures browser prometheus lint audit soak faults fresh clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

demo: $(INSTALLED) ## a monitor on Spark detects two incidents, in the terminal and on a web page (two minutes)
	$(BIN)/aomg demo

test: lint package browser prometheus ## lint, then all tests except the soak
	$(BIN)/pytest -n 3 --dist loadgroup --durations=10

# The tests that run Spark, except those of every option and of the page: they are about the same Spark, and slow.
SPARK_TESTS := tests/spark tests/oracle/test_spark.py tests/oracle/test_monitor.py tests/monitor/source \
	tests/monitor/run/test_failures.py tests/monitor/run/test_provoked_failures.py tests/monitor/run/test_health.py \
	tests/faults/test_trials.py tests/faults/test_hostile_lines.py tests/end_to_end/test_monitor.py \
	tests/tables/test_like_spark.py tests/test_doctor.py tests/test_packages.py
SPARK_ENVIRONMENTS := build
SPARK_VENV := $(SPARK_ENVIRONMENTS)/spark-$(SPARK)

# TESTS: other tests, or options of pytest
test-spark: spark-version $(SPARK_VENV)/.installed ## the tests that run Spark, on another version: make test-spark SPARK=4.1.4 (quarter of an hour)
	$(SPARK_VENV)/bin/pytest -n 2 --dist loadgroup --durations=5 $(or $(TESTS),$(SPARK_TESTS))

spark-version: # fail before anything is installed
	@[ -n "$(SPARK)" ] || { echo "name a version of PySpark: make test-spark SPARK=4.1.4"; exit 2; }

bench: $(INSTALLED) ## measure speed, accuracy and space; speeds are ratios to rivals in the same run
	$(BIN)/python -m benchmarks

bench-spark: $(INSTALLED) ## the same on Spark: against Spark's count, percentile_approx and KLL (half an hour)
	$(BIN)/python -m benchmarks spark

# NAMES and OPTIONS: see python -m benchmarks against --help
against: revision $(INSTALLED) ## compare the speed of this checkout with another revision: make against REV=main (ten minutes)
	$(BIN)/python -m benchmarks against $(REV) $(NAMES) $(OPTIONS)

revision: # fail before anything is installed
	@[ -n "$(REV)" ] || { echo "name a branch, a tag or a commit: make against REV=main"; exit 2; }

evaluation: $(INSTALLED) browser ## reproduce the paper's tables and figures at full size and write docs/results (an hour)
	$(BIN)/aomg evaluate --full --out build/evaluation
	$(BIN)/python -m aomg.evaluation.report.markdown build/evaluation docs/results
	$(BIN)/python -m aomg.evaluation.report.losses_page build/evaluation docs/where-it-loses.md

pictures: $(INSTALLED) browser ## take pictures of the live page after the demo: build/pages and the README's (three minutes)
	rm -rf build/demo
	$(BIN)/aomg demo --no-web --keep build/demo
	$(BIN)/python -m benchmarks.page.pictures build/demo/example.yaml build/pages
	cp build/pages/overview-wide-light.png docs/pictures/

# Some tests open the report in Chromium, which also draws the pictures of the pages. Playwright drives it with its own
# Node, which needs a library that a bare Debian does not have. Without them, tests are skipped and nothing fails.
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable
APT := DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq -o DPkg::Lock::Timeout=60
IS_ROOT := [ "$$(id -u)" = 0 ]
MISSING_FOR_PAGES = command -v $(BROWSERS) >/dev/null || echo chromium; \
	$(BIN)/python -m playwright --version >/dev/null 2>&1 || echo libatomic1
browser: $(INSTALLED) # installs both if root runs it; otherwise tests that need them are skipped, with the reason
	@missing=$$($(MISSING_FOR_PAGES)); [ -n "$$missing" ] || exit 0; \
	$(IS_ROOT) && command -v apt-get >/dev/null || { echo "not installed:" $$missing"; tests that need it are skipped"; exit 0; }; \
	echo "installing" $$missing "(once)"; \
	{ $(APT) update && $(APT) install -y --no-install-recommends $$missing; } >/dev/null 2>&1; \
	missing=$$($(MISSING_FOR_PAGES)); \
	[ -z "$$missing" ] || echo "could not be installed:" $$missing"; tests that need it are skipped"

# Some tests run a real Prometheus and a real Alertmanager. Their programs are unpacked from Debian's packages into
# build/, because installing the packages would need root and start two services. Debian's Alertmanager reads its
# templates from a fixed path that only root can write.
PROGRAMS := prometheus prometheus-alertmanager
UNPACKED := $(CURDIR)/build/debian
TEMPLATES := /usr/share/prometheus/alertmanager
export PATH := $(PATH):$(UNPACKED)/usr/bin
prometheus: # fetches both if there is apt-get; otherwise tests that need them are skipped, with the reason
	@for name in $(PROGRAMS); do \
		command -v $$name >/dev/null && continue; \
		command -v apt-get dpkg >/dev/null || { echo "no $$name here: tests that need it are skipped"; continue; }; \
		echo "fetching $$name (once)"; \
		part=$(UNPACKED)/$$name.part; mkdir -p $$part; \
		( cd $$part && { $(APT) download $$name || { $(IS_ROOT) && $(APT) update && $(APT) download $$name; } } && \
		  dpkg -x ./*.deb $(UNPACKED) ) >/dev/null 2>&1; \
		rm -rf $$part; \
		command -v $$name >/dev/null || echo "$$name could not be fetched: tests that need it are skipped"; \
	done; \
	[ -e $(UNPACKED)$(TEMPLATES) ] && [ ! -e $(TEMPLATES) ] || exit 0; \
	$(IS_ROOT) || { echo "prometheus-alertmanager needs $(TEMPLATES): run make prometheus as root once"; exit 0; }; \
	mkdir -p $(TEMPLATES) && cp -r $(UNPACKED)$(TEMPLATES)/. $(TEMPLATES)

# Built once. The wheel is put into a folder of its own, in front of the packages of the environment: that takes seconds.
PACKAGE := build/package
package: $(INSTALLED) ## build wheel and sdist, and try the wheel outside of the checkout (seconds)
	@rm -rf $(PACKAGE)
	$(BIN)/hatchling build -d $(PACKAGE)
	$(BIN)/pip install --quiet --no-deps --no-compile --target $(PACKAGE)/installed $(PACKAGE)/*.whl
	AOMG=$(CURDIR)/$(PACKAGE)/installed/bin/aomg PYTHONPATH=$(CURDIR)/$(PACKAGE)/installed \
		$(BIN)/python scripts/smoke_test.py $(CURDIR)

wheel: package ## the same in a fresh environment of its own, with Spark and the page (minutes); PYTHON=python3.13
	$(PYTHON) -m venv --clear build/wheel
	build/wheel/bin/pip install --quiet -c constraints.txt "aomg[monitor,web] @ file://$$(echo $(CURDIR)/$(PACKAGE)/*.whl)"
	env -u NUMBA_CACHE_DIR -u PYTHONPATH build/wheel/bin/python scripts/smoke_test.py $(CURDIR) --spark

lint: $(INSTALLED) ## style, format, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint Containerfile

# In an environment of its own, and strict: otherwise a package that cannot be looked up counts as safe.
audit: ## look up known vulnerabilities of the versions in constraints.txt (needs a connection to PyPI)
	$(PYTHON) -m venv build/audit
	build/audit/bin/pip install --quiet pip-audit
	build/audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r constraints.txt

soak: $(INSTALLED) ## long randomised tests
	$(BIN)/pytest -n 2 -m soak --hypothesis-profile=soak --durations=10

faults: $(INSTALLED) ## kill and damage monitors for MINUTES=10, and write build/faults; goes on where it stopped (SEED=1)
	$(BIN)/python tests/faults/campaign.py --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

fresh: ## make test and make demo on a bare Debian, as root (half an hour); COMMANDS='make demo', AS=guest, KEEP=1
	@scripts/fresh-machine.sh

clean: ## remove the environment, build files and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: install Python 3.11 or newer, or run make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: install a newer one, or run make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot create virtual environments: on Debian or Ubuntu run 'apt install python3-venv', then make again"; exit 1; }
	@echo "installing into $(VENV) (a few minutes the first time)"
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[monitor,web,evaluation,peers,dev]'
	@touch $@

# All pinned versions except that of Spark, and of Py4J, which each Spark asks for in its own version.
$(SPARK_ENVIRONMENTS)/spark-%/.installed: pyproject.toml constraints.txt
	@echo "installing PySpark $* and the rest into $(@D) (a few minutes)"
	$(PYTHON) -m venv --clear $(@D)
	grep -vE '^(pyspark|py4j)==' constraints.txt >$(@D)/constraints.txt
	$(@D)/bin/pip install --quiet -c $(@D)/constraints.txt 'pyspark[connect]==$*' -e '.[monitor,web,evaluation,peers,dev]'
	@touch $@
