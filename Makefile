# Four commands do everything, their own set-up included:
#
#   make demo    see it work: a throw-away daemon and browser, driven as an MCP client would (`make demo-reach`: from
#                another machine; `make demo-places`: at a team's places)
#   make check   for each change: format, lints, types, and all tests that need no browser
#   make test    for each merge: adds real Chromium, attacks, MiniWoB++, the conformance suite, others' clients,
#                a collector of metrics
#   make full    before a release: adds kills at random, seeded bugs, the program for Windows under Wine, thousands of
#                simulated runs, and the programs that people have agents in (900 MB from npm)
#
# All need Rust; all but demo need Node with npm; test and full need Python, too. Chromium is installed if
# there is none.

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto
NEXTEST = $(CARGO) nextest run --locked --workspace
# The program and the examples as the tests have them. Another choice of packages is another choice of
# features, and would build the dependencies anew.
BUILT = $(CARGO) test --locked --workspace --no-run --quiet

.PHONY: fleet demo check test full fmt clippy docs extension unit unit-quick doctests browsers hostile conformance clients \
	controls chaos soak agents collectors deny advisories miniwob miniwob-sample program dist dist-host fast-program packages test-packages packing same-program bench bench-each bench-peers screenshots macos windows wine browser xvfb systemd sshd nextest cargo-deny demo-reach demo-places nats bench-reach bench-places storm-places

demo: browser
	$(CARGO) build --release --locked
	target/release/tabwire demo

# The same from another machine: an agent behind a real sshd on the loopback, and where each of its calls went.
demo-reach: nextest browser sshd
	$(NEXTEST) --no-capture --filterset 'test(/^browser::far_agent::/)'

# The same at a team's three places over three NATS servers: where each call went, and what each hop took.
demo-places: nextest browser nats
	$(NEXTEST) --features tabwire/fleet --test it --no-capture --filterset 'test(/^browser::places::/)'

# What the way to another machine costs: calls over a real sshd on the loopback beside calls of this machine, and the
# largest result over a slow line. The tests are optimized, too: they are the browser and thousands of homes.
bench-reach: nextest sshd
	$(CARGO) build --release --locked
	TABWIRE_PROGRAM="$(CURDIR)/target/release/tabwire" \
		$(NEXTEST) --cargo-profile release --test it --run-ignored only --no-capture --filterset 'test(/^reach::(cost|slow)::/)'

# What the way to a team's places costs by two servers, the largest result over a slow line with small calls beside it,
# and calls to any of 9,999 places on three servers beside calls to one of ten. TABWIRE_PLACES names another number.
bench-places: nextest nats
	$(CARGO) build --release --locked --features fleet
	TABWIRE_PROGRAM="$(CURDIR)/target/release/tabwire-fleet" TABWIRE_FLEET_PROGRAM="$(CURDIR)/target/release/tabwire-fleet" \
		$(NEXTEST) --cargo-profile release --features tabwire/fleet --test it --run-ignored only --no-capture \
		--filterset 'test(/^fleet::(cost|slow|scale)::/)'

# The order: what is quick and says most comes first.
check: fmt extension clippy unit-quick
	@echo "all checks passed"

test: fmt extension clippy unit docs doctests browsers hostile miniwob-sample packing conformance clients collectors deny advisories fleet
	@echo "all tests passed"

full: TARGETS = windows-x64
full: test demo-places storm-places bench-reach bench-places controls chaos windows test-packages same-program soak agents
	@echo "everything passed"

fmt:
	$(CARGO) fmt --all --check -- src/protocol/actions/*.rs

clippy:
	$(CARGO) clippy --locked --workspace --all-targets --all-features -- --deny warnings

docs:
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items

# Unit and integration tests, among them the engine, the proofs and the layers.
# The groups and what belongs to them are in .config/nextest.toml.
UNIT = --filterset 'not group(browsers) & not test(/^(chaos|clients|collectors|hostile)/)'

unit: nextest systemd sshd
	$(NEXTEST) $(UNIT)

# The same tests; the two that repeat random runs for most of the time repeat fewer of them. Many wait for
# most of their time, so more of them than there are cores run at once.
unit-quick: nextest systemd sshd
	SIMULATION_SEEDS=40 HAND_OVER_COMMANDS=1000 $(NEXTEST) --test-threads 4 $(UNIT)

doctests:
	$(CARGO) test --locked --workspace --doc

# The tests with a real Chromium, and the editors of others that they type into.
EDITORS = tests/editors

browsers: nextest browser xvfb sshd target/editors/react.js
	$(NEXTEST) --filterset 'group(browsers) & not test(/^(agents|clients|hostile)/)'

target/editors/react.js: $(EDITORS)/node_modules/.package-lock.json $(EDITORS)/build.js $(wildcard $(EDITORS)/src/*.js)
	npm run --silent --prefix $(EDITORS) build
	@touch $@

# The bundler's program comes as a package of its own, so no scripts are run.
$(EDITORS)/node_modules/.package-lock.json: $(EDITORS)/package-lock.json
	npm ci --prefix $(EDITORS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Whoever should not get in tries to, in each way that docs/security.md lists; what was tried is counted.
hostile: nextest browser sshd
	@CARGO="$(CARGO)" sh scripts/hostile.sh

# Whether the tests would notice: one bug at a time is put in, each with the test that then fails.
controls:
	CARGO="$(CARGO)" sh scripts/negative-controls.sh

# Daemon, bridges and browsers killed at random; the program as it is optimized for a release.
chaos: nextest
	$(CARGO) build --release --locked
	TABWIRE_PROGRAM="$(CURDIR)/target/release/tabwire" $(NEXTEST) --filterset 'test(/^chaos/)'

# The official MCP conformance suite on the program and on a build that has the suite's fixtures beside
# the tools, and the tests of the script that runs it.
CONFORMANCE = tests/conformance
CONFORMANCE_NODE = $(CONFORMANCE)/node_modules/.bin/node

conformance: $(CONFORMANCE)/node_modules/.package-lock.json
	$(BUILT)
	$(CONFORMANCE_NODE) --test $(CONFORMANCE)/*.test.js
	TABWIRE_PROGRAM="$(CURDIR)/target/debug/tabwire" \
		TABWIRE_FIXTURES="$(CURDIR)/target/debug/examples/conformance" \
		$(CONFORMANCE_NODE) $(CONFORMANCE)/run.js

# The suite needs Node 22, which comes with it; npm itself is the system's.
$(CONFORMANCE)/node_modules/.package-lock.json: $(CONFORMANCE)/package-lock.json
	npm ci --prefix $(CONFORMANCE) --no-audit --no-fund --loglevel=error
	@touch $@

# Clients that others wrote: the Inspector, the TypeScript client and the Python client. Node is the
# conformance suite's.
CLIENTS = tests/clients
CLIENTS_PYTHON = target/clients

clients: nextest $(CONFORMANCE)/node_modules/.package-lock.json \
		$(CLIENTS)/node_modules/.package-lock.json $(CLIENTS_PYTHON)/bin/mcp
	$(NEXTEST) --filterset 'test(/^clients/)'

# Places over NATS: the build with the feature, and a real server. Where there is no server for this computer, the
# tests that need one say that they are skipped.
NATS = target/nats
OLD_NATS = $(NATS)-old/usr/sbin/nats-server

fleet: nextest nats
	if [ -x $(OLD_NATS) ]; then export TABWIRE_OLD_NATS_SERVER="$(CURDIR)/$(OLD_NATS)"; fi; \
		$(NEXTEST) --features tabwire/fleet --lib --test it --success-output final \
		--filterset 'test(/^fleet::|^cli::(connect|places|fleet)::|^hostile::tenants::/)'

# Homes, agents and servers of a team are killed and stopped for five minutes. TABWIRE_CHAOS_SEED repeats a run.
storm-places: nextest nats
	TABWIRE_STORM_SECONDS=300 $(NEXTEST) --features tabwire/fleet --test it --no-capture \
		--filterset 'test(/^fleet::storm::/)'

nats:
	@test -x $(NATS)/bin/nats-server || sh scripts/need-python.sh $(NATS) tests/fleet/requirements.txt \
		|| echo "no NATS server for this computer: its tests are skipped" >&2
	@test -x $(OLD_NATS) || sh scripts/need-old-nats.sh $(NATS)-old \
		|| { rm -rf $(NATS)-old; echo "no old NATS server for this computer: its test is skipped" >&2; }

# A collector that operators have: Debian's Prometheus, unpacked and not installed.
PROMETHEUS = target/prometheus

collectors: nextest $(PROMETHEUS)/.unpacked
	$(NEXTEST) --filterset 'test(/^collectors/)'

$(PROMETHEUS)/.unpacked: scripts/need-prometheus.sh
	@sh scripts/need-prometheus.sh $(PROMETHEUS)
	@touch $@

# Nothing has to be built, so no scripts are run.
$(CLIENTS)/node_modules/.package-lock.json: $(CLIENTS)/package-lock.json
	npm ci --prefix $(CLIENTS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(CLIENTS_PYTHON)/bin/mcp: $(CLIENTS)/requirements.txt
	@sh scripts/need-python.sh $(CLIENTS_PYTHON) $(CLIENTS)/requirements.txt
	@touch $@

# MiniWoB++: small pages that judge themselves, solved through the browser actions by scripts. All of them, or
# PAGES=a,b; SEED=N and EPISODES=N for others. `make test` solves 25, drawn by SEED.
MINIWOB = target/miniwob
MINIWOB_RUN = node tests/miniwob/main.mjs --check --seed $(or $(SEED),1)

miniwob: browser $(MINIWOB)/html
	$(CARGO) build --release --locked
	$(MINIWOB_RUN) --verbose --episodes $(or $(EPISODES),1) $(if $(PAGES),--pages $(PAGES))

miniwob-sample: browser $(MINIWOB)/html
	$(BUILT)
	TABWIRE_PROGRAM="$(CURDIR)/target/debug/tabwire" $(MINIWOB_RUN) --sample 25

# The package's pages only: nothing of it is run or installed.
$(MINIWOB)/html: tests/miniwob/requirements.txt $(CLIENTS_PYTHON)/bin/mcp
	rm -rf $(MINIWOB)
	$(CLIENTS_PYTHON)/bin/pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
		--requirement $< --dest $(MINIWOB)
	$(CLIENTS_PYTHON)/bin/python -m zipfile --extract $(MINIWOB)/miniwob-*.whl $(MINIWOB)
	mv $(MINIWOB)/miniwob/html $@
	@touch $@

# The program that is published, for this computer, without a path of this computer in it; and its packages. Another
# profile builds sooner and is not held to the bounds of sizes: make test-packages PROFILE=release.
PACKAGES = target/packages
PROFILE = dist
PACKING_PYTHON = target/packing
ANY_SIZE = $(if $(filter-out dist,$(PROFILE)),--any-size)

program:
	CARGO="$(CARGO)" sh packaging/build.sh $(PROFILE)

# The same, and the program with places over NATS besides: target/dist/tabwire-fleet.
dist-host: program
	CARGO="$(CARGO)" sh packaging/build.sh $(PROFILE) --features fleet --bin tabwire-fleet

# The fastest program for this computer, target/fast/tabwire: built by a record of its own work, in 15 to 20 minutes.
fast-program:
	CARGO="$(CARGO)" sh packaging/fast.sh

# The programs of TARGETS, as packaging/targets.py names them: target/RUST'S NAME/dist. Those for Windows need mingw-w64,
# all others zig, which is fetched. Each is held to what its target promises, and those for macOS run nowhere here.
TARGETS =

dist:
	for target in $(or $(TARGETS),$$(python3 packaging/targets.py --all)); do \
		CARGO="$(CARGO)" sh packaging/build.sh --target $$target $(PROFILE) || exit; \
	done

# This computer's program, and those of TARGETS besides, or in its place.
HOST = $(shell python3 packaging/targets.py)

packages: $(PACKING_PYTHON)/bin/jsonschema
	$(if $(filter $(HOST),$(TARGETS)),,$(MAKE) program)
	$(if $(TARGETS),$(MAKE) dist TARGETS="$(TARGETS)")
	rm -rf $(PACKAGES)
	CARGO="$(CARGO)" $(PACKING_PYTHON)/bin/python packaging/pack.py --out $(PACKAGES) --profile $(PROFILE) $(ANY_SIZE) \
		$(if $(filter $(HOST),$(TARGETS)),,--program target/$(PROFILE)/tabwire) $(addprefix --built ,$(TARGETS))

# Their installation by npm, pip, uv, dpkg, the script for downloads, and the unpacking of a bundle; those for Windows by
# Wine: make test-packages TARGETS=windows-x64.
test-packages: packages $(PACKING_PYTHON)/bin/jsonschema tests/packaging/node_modules/.package-lock.json
	$(if $(filter windows-%,$(TARGETS)),@sh scripts/need-wine.sh)
	$(PACKING_PYTHON)/bin/python tests/packaging/test_packages.py

# Nothing has to be built, so no scripts are run.
tests/packaging/node_modules/.package-lock.json: tests/packaging/package-lock.json
	npm ci --prefix tests/packaging --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Forms, sizes and bytes of packages of a script in the program's place, so that nothing is built.
packing: $(PACKING_PYTHON)/bin/jsonschema
	CARGO="$(CARGO)" $(PACKING_PYTHON)/bin/python tests/packaging/test_packing.py

$(PACKING_PYTHON)/bin/jsonschema: tests/packaging/requirements.txt packaging/requirements-pack.txt
	@sh scripts/need-python.sh $(PACKING_PYTHON) $<
	@touch $@

# Whether two folders give the same program: two clean builds of it.
same-program:
	CARGO="$(CARGO)" sh packaging/same-program.sh

# The programs that people have agents in, and what their models are shown, by the program as it is
# released and a real Chromium. The models are played by the tests. Node is the conformance suite's.
AGENTS = tests/agents

agents: nextest browser $(CONFORMANCE)/node_modules/.package-lock.json \
		$(AGENTS)/node_modules/.package-lock.json
	$(CARGO) build --release --locked
	TABWIRE_PROGRAM="$(CURDIR)/target/release/tabwire" \
		$(NEXTEST) --success-output final --filterset 'test(/^agents/)'

# Nothing has to be built, so no scripts are run.
$(AGENTS)/node_modules/.package-lock.json: $(AGENTS)/package-lock.json
	npm ci --prefix $(AGENTS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# The extension: types by tsc, logic by node --test. Nothing is built: what is loaded is
# what is read.
extension: node_modules/.package-lock.json
	npm run --silent check
	npm test --silent

node_modules/.package-lock.json: package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Licences, sources and duplicate or banned packages; needs no network.
deny: cargo-deny
	$(CARGO) deny --locked check bans licenses sources

# Known vulnerabilities, where their list can be fetched: see the script.
advisories: cargo-deny
	@CARGO="$(CARGO)" sh scripts/advisories.sh

# How fast: all figures of docs/performance.md, of the program that is published (PROFILE names another), each beside its
# yardstick; what measures, and the yardsticks with it, is optimized for speed. CHECK=1 fails where a bound is missed,
# WRITE=1 records the run in benches/figures/, docs/performance.md and README.md, JSON=1 prints the record,
# PARTS="path rate" measures these alone. Then Tabwire beside other servers.
MEASURED = TABWIRE_PROGRAM="$(CURDIR)/target/$(PROFILE)/tabwire"

bench: browser program
	$(MEASURED) $(CARGO) bench --locked --bench figures -- --profile $(PROFILE) $(foreach part,$(PARTS),--part $(part)) \
		$(if $(CHECK),--check) $(if $(WRITE),--write) $(if $(JSON),--json)
	$(if $(PARTS),,$(MAKE) bench-peers)

# Each of the other benchmarks, with a table of its own.
bench-each: browser
	$(CARGO) bench --locked --bench push
	$(CARGO) bench --locked --bench transports
	$(CARGO) bench --locked --bench browser
	$(CARGO) bench --locked --bench capacity
	$(CARGO) bench --locked --bench cancel
	$(CARGO) bench --locked --bench waits
	$(CARGO) bench --locked --bench sync
	$(CARGO) bench --locked --bench ingest
	$(CARGO) bench --locked --bench guard
	$(CARGO) bench --locked --bench hostile

# Tabwire beside other MCP servers for browsers and beside the bare protocol: bytes of answers, times of acts, calls
# of tasks. WRITE=1 writes benches/peers/figures.json and the tables of docs/performance.md; tests hold Tabwire to
# them. SHOW=1 prints all answers, JSON=1 all figures. The pages are on the loopback, and no server sends statistics.
PEERS = benches/peers

bench-peers: browser program $(PEERS)/node_modules/.package-lock.json target/editors/react.js
	$(MEASURED) node $(PEERS)/main.mjs $(if $(WRITE),--write) $(if $(SHOW),--show) $(if $(JSON),--json)

# Their scripts would fetch browsers.
$(PEERS)/node_modules/.package-lock.json: $(PEERS)/package-lock.json
	npm ci --prefix $(PEERS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Pictures of all that a person sees of the extension, into target/screenshots: the popup in each of its
# states at 360 px, the page to draw in, the toolbar with each badge, the browser's window with its debugging
# bar and with the popup; light and dark. To be looked at. docs/images/popup.png is one of them.
screenshots: browser
	node scripts/screenshots/main.mjs

# Thousands of simulated runs (SEEDS=N for another number), and whether a browser that was idle for
# minutes still answers at once.
soak: nextest browser
	SIMULATION_SEEDS=$(or $(SEEDS),5000) $(NEXTEST) --filterset 'test(whatever_breaks)'
	$(NEXTEST) --run-ignored only --success-output final

# Whether it compiles for macOS, from Linux. Fetches a target for rustup, so `test` does not need it.
macos:
	CARGO="$(CARGO)" sh scripts/check-macos.sh

# The program for Windows, by mingw-w64: its unit tests and whole programs under Wine, a Chromium of this system with it,
# and MCP's conformance suite, which is a program of this system and gets the same counts as there.
windows: wine browser $(CONFORMANCE)/node_modules/.package-lock.json
	CARGO="$(CARGO)" sh scripts/check-windows.sh

browser:
	@sh scripts/need-chromium.sh

wine:
	@sh scripts/need-wine.sh

xvfb:
	@sh scripts/need-xvfb.sh

systemd:
	@sh scripts/need-systemd.sh

sshd:
	@sh scripts/need-sshd.sh

nextest:
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-nextest

cargo-deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
