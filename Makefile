# Two commands do everything on a fresh machine:
#   make crawl URL=https://docs.example.com/ [ARGS="-a max_pages=100"] [OUT=documents.jsonl]
#   make test
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export COVERAGE_FILE := $(CURDIR)/.coverage
unexport PYTHONDONTWRITEBYTECODE
OUT ?= documents.jsonl
ARGS ?=

.PHONY: crawl test test-pythons orchestrators coverage test-lowest lint format smoke bench fuzz lock licences release-check ninety-seconds docs docs-serve pictures install install-all install-dev clean

install: $(VENV)/.installed
install-all: $(VENV)/.installed-all
install-dev: $(VENV)/.installed-dev .venv-llamaindex/.installed

# The locks hold all that is needed, with hashes; what an index serves cannot differ. A crawl needs the base alone.
$(VENV)/.installed: locks/requirements-base.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/requirements-base.lock
	@touch $@

# Everything: the extras too (browser, Parquet, S3, PostgreSQL, MCP).
$(VENV)/.installed-all: $(VENV)/.installed locks/requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/requirements.lock
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-all locks/requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/requirements-dev.lock
	@touch $@

.venv-llamaindex/.installed: locks/requirements-llamaindex.lock
	$(PYTHON) -m venv .venv-llamaindex
	.venv-llamaindex/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r locks/requirements-llamaindex.lock
	@touch $@

.venv-orchestrators/.installed: locks/orchestrators.lock
	$(PYTHON) -m venv .venv-orchestrators
	.venv-orchestrators/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# The Airflow DAG and the Dagster asset of docs/examples/, by the real packages: two minutes to install, three to run.
orchestrators: $(VENV)/.installed-dev .venv-orchestrators/.installed
	$(BIN)/python .ci/orchestrators.py .venv-orchestrators

crawl: install
	@test -n "$(URL)" || { echo 'make crawl: URL is missing: make crawl URL=https://docs.example.com/' >&2; exit 2; }
	@$(BIN)/python -m llmsspider crawl docs -a url="$(URL)" -O "$(OUT)" $(ARGS)

# Tests run in parallel, three processes a core; PYTEST_ARGS="-n 0" runs them one after the other, DURATIONS=1 names the slowest twenty.
PYTEST_ARGS ?= -n auto
DURATIONS ?=

test: install-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS) $(if $(DURATIONS),--durations=20) $(TESTS)

# The suite with each Python that is on the PATH, each in an environment of its own; one that is missing is said.
PYTHONS ?= 3.11 3.12 3.13 3.14
test-pythons:
	@for version in $(PYTHONS); do \
		if python$$version --version >/dev/null 2>&1; then \
			$(MAKE) test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
		else \
			echo "python$$version is not here: its tests were not run"; \
		fi; \
	done

# The same tests with what of the package they run, 90% at least: two fifths more CPU, so a part of release-check, not of .ci/run.
coverage: install-dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PYTEST_ARGS) $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report $(if $(TESTS),,--fail-under=90)

# The lowest versions that pyproject.toml declares: each library in the tests that use it most, and whole crawls with all of them.
LOWEST := .venv-lowest
LOWEST_SCRAPY := change_news compat console dupefilter extending_settings resolver robots spider_callbacks stats_class terminal_progress tls_and_user_agent
LOWEST_STORES := feed_storage store_open store_pages
LOWEST_TEXT := signing commonmark decompression extraction_fidelity formats hosts openapi scope
LOWEST_TESTS ?= \
	$(LOWEST_SCRAPY:%=tests/components/test_%.py) $(LOWEST_STORES:%=tests/components/test_%.py) \
	tests/components/test_search.py::test_an_embedder_finds_by_meaning_and_embeds_a_passage_once \
	$(LOWEST_TEXT:%=tests/unit/test_%.py) tests/integration/test_crawl_sites.py \
	tests/integration/test_mcp.py::test_over_http_with_a_token_and_checked_hosts \
	tests/e2e/test_browser_site.py::test_only_empty_shells_are_drawn

$(LOWEST)/.installed: locks/lowest.lock
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/lowest.lock
	@touch $@

# In two processes where the suite has four: each one imports everything, and both run beside each other (.ci/run).
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest $(subst auto,2,$(PYTEST_ARGS)) $(LOWEST_TESTS)

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/lint-imports

format: install-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

smoke: install-dev
	$(BIN)/python benchmarks/smoke.py

# Peers are installed into benchmarks/.venvs; BENCH="--rounds 1 python" runs a part. See docs/lab/performance.md.
bench: install-dev
	$(BIN)/python benchmarks/compare.py $(BENCH)

# New examples for every property test, for as long as you like; what fails is tried first the next time. Then each parser
# of what a site sends by atheris, as long each: `make fuzz MINUTES=60 PARSERS="HTML Markdown"`.
MINUTES ?= 10
fuzz: $(VENV)/.installed-fuzz
	$(BIN)/python benchmarks/fuzz.py --minutes $(MINUTES) $(TESTS)
	$(BIN)/python benchmarks/fuzz_parsers.py --minutes $(MINUTES) $(PARSERS)

$(VENV)/.installed-fuzz: $(VENV)/.installed-dev locks/fuzz.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/fuzz.lock
	@touch $@

# After a change of requirements*.txt. What tests and linters need follows the versions of locks/requirements.lock.
UV_COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11.0 --generate-hashes --no-emit-index-url \
	--no-header --no-annotate
LOCK_HEAD = \# Every package that $(1).txt brings, with its hashes: `make lock` writes it.
lock:
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	$(UV_COMPILE) requirements.txt -o locks/requirements.lock
	$(UV_COMPILE) pyproject.toml -c locks/requirements.lock -o locks/requirements-base.lock
	$(UV_COMPILE) pyproject.toml --extra mcp --extra postgresql -c locks/requirements.lock -o locks/requirements-server.lock
	$(UV_COMPILE) locks/requirements-dev.txt -c locks/requirements.lock -o locks/requirements-dev.lock
	$(UV_COMPILE) locks/requirements-cloud.txt -o locks/requirements-cloud.lock
	$(UV_COMPILE) locks/requirements-llamaindex.txt pyproject.toml -c locks/requirements.lock -o locks/requirements-llamaindex.lock
	$(UV_COMPILE) locks/orchestrators.txt -o locks/orchestrators.lock
	$(UV_COMPILE) locks/fuzz.txt -o locks/fuzz.lock
	$(UV_COMPILE) --resolution lowest-direct --all-extras pyproject.toml locks/lowest.txt -o locks/lowest.lock
	@sed -i '1i $(call LOCK_HEAD,requirements)' locks/requirements.lock
	@sed -i '1i # Every package that a plain install brings, with its hashes: `make lock` writes it.' locks/requirements-base.lock
	@sed -i '1i # What the container installs: the base, MCP and PostgreSQL, with hashes: `make lock` writes it.' locks/requirements-server.lock
	@sed -i '1i $(call LOCK_HEAD,requirements-dev)' locks/requirements-dev.lock
	@sed -i '1i $(call LOCK_HEAD,requirements-cloud)' locks/requirements-cloud.lock
	@sed -i '1i $(call LOCK_HEAD,requirements-llamaindex)' locks/requirements-llamaindex.lock
	@sed -i '1i $(call LOCK_HEAD,orchestrators)' locks/orchestrators.lock
	@sed -i '1i $(call LOCK_HEAD,fuzz)' locks/fuzz.lock
	@sed -i '1i # The lowest versions that pyproject.toml declares, with hashes: `make lock` writes it.' locks/lowest.lock

# Every test with coverage; then build wheel and sdist into dist/, check them, install them into an empty environment and crawl with that.
release-check: coverage test-pythons
	$(BIN)/python .ci/release_check.py

# Seconds and megabytes from nothing to documents, and to an answer, in an empty Debian system; needs root, debootstrap.
ninety-seconds: install-dev
	$(BIN)/python .ci/ninety_seconds.py --packages

# The documentation as a site in build/site, with its llms.txt and Markdown pages; served at DOCS_URL.
DOCS_URL ?= http://127.0.0.1:8000/
docs: install-dev
	$(BIN)/python .ci/docs_site.py --url $(DOCS_URL)

docs-serve: install-dev
	$(BIN)/python .ci/docs_site.py --url $(DOCS_URL) --serve

# The pictures of README.md; needs Chromium.
pictures: install-dev
	$(BIN)/python .ci/pictures.py

licences: install-dev
	$(BIN)/python tests/support/licences.py > docs/reference/licences.md

clean:
	rm -rf $(VENV) $(PYTHONS:%=.venv-%) .venv-llamaindex .venv-orchestrators $(LOWEST) build dist *.egg-info .coverage* .pytest_cache .mypy_cache .ruff_cache
