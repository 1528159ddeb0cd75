# Three commands do everything, their own set-up included:
#
#   make demo    see it work: a throw-away daemon and browser, driven as an MCP client would
#   make test    the checks that CI runs
#   make full    what the models of Claude Code, Codex and Gemini CLI are shown; takes 900 MB from npm
#
# All need Rust; test and full need Node with npm and Python, too. Chromium is installed if there is none.

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

.PHONY: screenshots hostile controls chaos clients agents full conformance macos demo test fmt clippy docs deny advisories unit extension bench bench-peers browser nextest cargo-deny

demo: browser
	$(CARGO) build --release --locked
	target/release/tabwire demo

# The order: what is quick and says most comes first.
test: fmt clippy docs extension unit hostile controls chaos conformance clients deny advisories
	@echo "all checks passed"

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --locked --all-targets --all-features -- --deny warnings

docs:
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --locked --no-deps --document-private-items

# Unit and integration tests, among them the proofs, the layers and real Chromium, then the
# doctests.
unit: nextest browser
	$(CARGO) nextest run --locked --filterset 'not test(/^(agents|chaos|clients|hostile)/)'
	$(CARGO) test --locked --doc

# Whoever should not get in tries to, in each way that docs/security.md lists; what was tried is counted.
hostile: nextest browser
	@CARGO="$(CARGO)" sh scripts/hostile.sh

# Whether the tests would notice: one bug at a time is put in, each with the test that then fails.
controls:
	CARGO="$(CARGO)" sh scripts/negative-controls.sh

# Daemon, bridges and browsers killed at random; the program as it is released.
chaos: nextest
	$(CARGO) build --release --locked
	TABWIRE_PROGRAM="$(CURDIR)/target/release/tabwire" \
		$(CARGO) nextest run --locked --filterset 'test(/^chaos/)'

# The official MCP conformance suite on the program as it is released and on a build that has the
# suite's fixtures beside the tools, and the tests of what runs it.
CONFORMANCE = tests/conformance
CONFORMANCE_NODE = $(CONFORMANCE)/node_modules/.bin/node

conformance: $(CONFORMANCE)/node_modules/.package-lock.json
	$(CARGO) build --release --locked
	$(CARGO) build --locked --example conformance
	$(CONFORMANCE_NODE) --test $(CONFORMANCE)/*.test.js
	TABWIRE_PROGRAM="$(CURDIR)/target/release/tabwire" \
		TABWIRE_FIXTURES="$(CURDIR)/target/debug/examples/conformance" \
		$(CONFORMANCE_NODE) $(CONFORMANCE)/run.js

# The suite needs Node 22, which comes with it; npm itself is the system's.
$(CONFORMANCE)/node_modules/.package-lock.json: $(CONFORMANCE)/package-lock.json
	npm ci --prefix $(CONFORMANCE) --no-audit --no-fund --loglevel=error
	@touch $@

# Clients that others wrote, on the program as it is released: the Inspector, the TypeScript
# client and the Python client. Node is the conformance suite's.
CLIENTS = tests/clients
CLIENTS_PYTHON = target/clients

clients: nextest $(CONFORMANCE)/node_modules/.package-lock.json \
		$(CLIENTS)/node_modules/.package-lock.json $(CLIENTS_PYTHON)/bin/mcp
	$(CARGO) build --release --locked
	TABWIRE_PROGRAM="$(CURDIR)/target/release/tabwire" \
		$(CARGO) nextest run --locked --filterset 'test(/^clients/)'

# Nothing has to be built, so no scripts are run.
$(CLIENTS)/node_modules/.package-lock.json: $(CLIENTS)/package-lock.json
	npm ci --prefix $(CLIENTS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(CLIENTS_PYTHON)/bin/mcp: $(CLIENTS)/requirements.txt
	@sh scripts/need-python.sh $(CLIENTS_PYTHON) $(CLIENTS)/requirements.txt
	@touch $@

# The programs that people have agents in, and what their models are shown, by the program as it is
# released and a real Chromium. The models are played by the tests. Node is the conformance suite's.
AGENTS = tests/agents

agents: nextest browser $(CONFORMANCE)/node_modules/.package-lock.json \
		$(AGENTS)/node_modules/.package-lock.json
	$(CARGO) build --release --locked
	TABWIRE_PROGRAM="$(CURDIR)/target/release/tabwire" \
		$(CARGO) nextest run --locked --success-output final --filterset 'test(/^agents/)'

# Nothing has to be built, so no scripts are run.
$(AGENTS)/node_modules/.package-lock.json: $(AGENTS)/package-lock.json
	npm ci --prefix $(AGENTS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# All that was written by others and speaks with the program.
full: clients agents

# The extension: types by tsc, logic by node --test. Nothing is built: what is loaded is
# what is read.
extension:
	npm ci --no-audit --no-fund
	npm run --silent check
	npm test --silent

# Licences, sources and duplicate or banned packages; needs no network.
deny: cargo-deny
	$(CARGO) deny --locked check bans licenses sources

# Known vulnerabilities, where their list can be fetched: see the script.
advisories: cargo-deny
	@CARGO="$(CARGO)" sh scripts/advisories.sh

# How fast: the push beside a bare relay, and an agent's call through a real browser.
bench: browser
	$(CARGO) bench --locked --bench push
	$(CARGO) bench --locked --bench carriers
	$(CARGO) bench --locked --bench browser
	$(CARGO) bench --locked --bench cancel
	$(CARGO) bench --locked --bench waits
	$(CARGO) bench --locked --bench sync
	$(CARGO) bench --locked --bench guard
	$(CARGO) bench --locked --bench hostile

# How long the usual answers are, beside those of other MCP servers for browsers. WRITE=1 writes the
# others' figures to benches/peers/figures.json, which a test holds the answers to; SHOW=1 prints all
# answers. The page is on the loopback, and no server sends statistics.
PEERS = benches/peers

bench-peers: browser $(PEERS)/node_modules/.package-lock.json
	$(CARGO) build --release --locked
	node $(PEERS)/main.mjs $(if $(WRITE),--write) $(if $(SHOW),--show)

# Their scripts would fetch browsers.
$(PEERS)/node_modules/.package-lock.json: $(PEERS)/package-lock.json
	npm ci --prefix $(PEERS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Pictures of all that a person sees of the extension, into target/screenshots: the popup in each of its
# states at 360 px, the page to draw in, the toolbar with each badge, the browser's window with its debugging
# bar and with the popup; light and dark. To be looked at. docs/images/popup.png is one of them.
screenshots: browser
	node scripts/screenshots/main.mjs

# What takes minutes: thousands of simulated runs, and whether an idle browser still answers
# at once.
soak: nextest browser
	SIMULATION_SEEDS=5000 $(CARGO) nextest run --locked -E 'test(whatever_breaks)'
	$(CARGO) nextest run --locked --run-ignored only --success-output final

# Whether it compiles for macOS, from Linux. Fetches a target for rustup, so `test` does not need it.
macos:
	CARGO="$(CARGO)" sh scripts/check-macos.sh

browser:
	@sh scripts/need-chromium.sh

nextest:
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-nextest

cargo-deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
