# Everything a fresh machine with Rust, Node and Python needs is installed from here, by the package managers' own clients.
#
#   make demo    build, run the demo (simulated, then live where the host allows it), leave a report
#   make build   the command at full speed (make demo's is the one that compiles fast)
#   make fast    as build, and optimised by a profile of runs: a tenth faster, twice as long to build (llvm-tools)
#   make test    everything that must hold
#   make twin    twelve scenarios simulated and live: where the two agree (10 min, root or user namespaces)
#   make bench   how fast the simulator is, beside a bare event loop, and what every discipline costs
#   make fuzz    each parser against noise (SECONDS=300 each), then 100 000 drawn scenarios that are accepted (ACCEPTED)
#   make mutants whether the tests notice changed code in the disciplines (cargo-mutants, hours)
#   make format  every Rust file as rustfmt writes it, which make lint checks
#   make web     the page that reports are made of
#   make picture the picture of README.md, from a run
#   make docs    the generated reference pages
#   make renew   everything that is pinned or generated, written anew, and a list of what changed (minutes)
#   make python-test  the Python package: its tests, examples, tutorial and types (part of make test)
#   make wheel   the Python package as a wheel, in target/wheels
#   make play    the playground, web/dist/play/ and web/dist/play.html: the simulator as a WebAssembly module with its
#                page; its sizes and speed (rustup target add wasm32-unknown-unknown)
#   make wasm-check  the pure crates compile for the browser (rustup target add wasm32-unknown-unknown)
#   make packages  what is uploaded to crates.io: packed, compiled from the packages alone, `cargo publish --dry-run`;
#                what they export beside crates/*/interface.txt (minutes)
#   make interfaces  those lists written anew
#   make types   the TypeScript types of the pages and the metrics of the Python package, from Rust
#   make release archives, packages, wheel, bills of materials and checksums in target/release-files (packaging/README.md)
#   make site    all documents, schemas and reports as pages, in target/site (mdbook: make tools)
#   make weigh   lines, words, long functions and the like, of the checkout and of a revision (SINCE=v0.2.0)
#   make hooks   git checks each commit message (tests/commit-msg.sh)
#   make tools   schemathesis and mdbook in target/tools, for two tests (part of make test: 90 MB, minutes of compiling)

SECONDS ?= 300
ACCEPTED ?= 100000
CARGO ?= cargo
LOCKGATE = target/release/lockgate

.PHONY: packages interfaces public-api demo test test-waiting test-computing python-test wheel forget-skips lint wasm-check twin bench fuzz mutants web picture docs types renew format hooks weigh tools release site build fast play clean
.DEFAULT_GOAL := demo

# Shown by `lockgate --version`; empty outside a clone. Not for tests, which would be compiled anew after each commit.
demo build fast: export LOCKGATE_COMMIT = $(shell git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null)

demo: web
	$(CARGO) build --profile demo --locked -p lockgate-cli
	target/demo/lockgate demo

build: web
	$(CARGO) build --release --locked -p lockgate-cli

fast: web
	CARGO="$(CARGO)" packaging/profile-guided.sh

web: web/dist/report.html

web/node_modules: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

web/dist/report.html: web/node_modules $(shell find web/src web/report.html web/vite.config.ts -type f 2>/dev/null)
	cd web && npm run build
	@touch $@

# Everything is compiled once. Then two lanes run side by side, one of which mostly waits: for real time, namespaces,
# browsers, package managers; its output is printed at the end. What this host cannot run is recorded in the file
# LOCKGATE_SKIPPED and printed last.
test: export LOCKGATE_SKIPPED = $(CURDIR)/target/skipped.txt
test site: export PATH := $(CURDIR)/target/tools/cargo/bin:$(PATH)
test: forget-skips web tools
	$(CARGO) test --workspace --locked --lib --bins --tests --no-run
	@$(MAKE) --no-print-directory test-waiting > target/waiting.txt 2>&1 & waiting=$$!; \
	trap 'kill $$waiting' INT TERM; \
	$(MAKE) --no-print-directory test-computing; status=$$?; \
	wait $$waiting || status=$$?; cat target/waiting.txt; exit $$status
	@tests/skips.sh $(LOCKGATE_SKIPPED)

# Tests of this list wait more than they compute, so more of them run at a time. The only ones that make interfaces or
# namespaces.
WAITING = apply bad_hosts control control_channel frames identify_line kernel kernel_twin line_probe live monitor output packets promises reproduce_live route super_frames timestamp top
TESTS = $(sort $(basename $(notdir $(wildcard crates/*/tests/*.rs))) \
    $(notdir $(patsubst %/main.rs,%,$(wildcard crates/*/tests/*/main.rs))))

# Each of the three runs also where one before it failed. LOCKGATE_PYTHON_BUILD: with these options the artifacts of
# `cargo test` are used, whose features are those of all tests.
test-waiting:
	@status=0; \
	RUST_TEST_THREADS=4 $(CARGO) test --workspace --locked --no-fail-fast $(WAITING:%=--test %) || status=$$?; \
	(cd web && npm test) || status=$$?; \
	CARGO="$(CARGO)" LOCKGATE_PYTHON_BUILD="--workspace --lib --tests" tests/python.sh || status=$$?; \
	exit $$status

test-computing: lint
	CARGO="$(CARGO)" tests/packages.sh
	$(CARGO) test --workspace --locked --no-fail-fast --lib --bins $(patsubst %,--test %,$(filter-out $(WAITING),$(TESTS)))
	$(CARGO) test --workspace --locked --doc

python-test:
	@CARGO="$(CARGO)" tests/python.sh

# A compiler is needed to build it, and none to install it. WHEEL: options of maturin, such as those of packaging/release.sh.
wheel: web target/wheel/bin/maturin
	cd python && PATH="$(CURDIR)/target/wheel/bin:$$PATH" maturin build --release --locked $(WHEEL) --out ../target/wheels

target/wheel/bin/maturin:
	python3 -m venv target/wheel
	target/wheel/bin/pip install --quiet --disable-pip-version-check 'maturin[zig]>=1.9,<2'

forget-skips:
	@mkdir -p target && rm -f target/skipped.txt

# By name: cargo fmt does not follow modules that a macro declares, such as those of the disciplines.
RUSTFMT = git ls-files -z '*.rs' | xargs -0 rustfmt --edition 2024
format:
	$(RUSTFMT)

lint: web
	cd web && npm run check
	$(RUSTFMT) --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --workspace --no-deps --locked
	@$(MAKE) --no-print-directory wasm-check

# What is made to be depended on, in the order of its dependencies (tests/packages.sh).
UPLOADED = engine headers autorate traffic measure export scenario tcp network sim path path-c
packages interfaces: export PATH := $(CURDIR)/target/tools/cargo/bin:$(PATH)
packages: public-api
	CARGO="$(CARGO)" tests/packages.sh build

interfaces: public-api
	CARGO="$(CARGO)" RENEW=1 tests/interfaces.sh

public-api:
	command -v cargo-public-api >/dev/null || $(CARGO) install --quiet --locked --debug --root target/tools/cargo cargo-public-api@0.52.0

# The pure crates compile for the browser. WASM_CARGO is a cargo that has the target, where rustup's own has not.
PURE = engine headers autorate traffic measure scenario tcp network sim path calculus identify session tc wasm
wasm-check:
	@missing=$$(CARGO="$(CARGO)" crates/wasm/cargo.sh --version) || { \
	echo "lint::wasm32: $$missing" | tee -a "$${LOCKGATE_SKIPPED:-/dev/null}"; exit 0; }; \
	CARGO="$(CARGO)" crates/wasm/cargo.sh check --locked --target wasm32-unknown-unknown --no-default-features $(PURE:%=-p lockgate-%) -p lockgate

# Two scenarios show the speed: a home with TCP, and calls beside bulk. Fails without the target, which it names.
play: web
	@CARGO="$(CARGO)" crates/wasm/build.sh
	cd web && npm run play
	@node crates/wasm/tests/module.mjs target/play/lockgate.wasm measure scenarios/home.toml scenarios/voice-beside-bulk.toml

# Tolerances that are missed are a result, not a failure to make.
twin: build
	scenarios/twin/table.sh $(LOCKGATE) || [ $$? -eq 3 ]

bench:
	$(CARGO) bench --locked -p lockgate-sim
	LOCKGATE_BENCH=short $(CARGO) bench --locked -p lockgate-engine --bench disciplines

fuzz:
	@command -v cargo-fuzz >/dev/null || $(CARGO) install --locked cargo-fuzz
	cd fuzz && for target in $$(sed -n 's/^name = "\(fuzz_.*\)"/\1/p' Cargo.toml); do \
	  RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run --fuzz-dir . $$target -- -max_total_time=$(SECONDS) -rss_limit_mb=4096 || exit 1; done
	LOCKGATE_GENERATED=$(ACCEPTED) $(CARGO) test --release --locked -p lockgate-sim --test generated -- --nocapture

# The files, tests and time limits are in .cargo/mutants.toml. Results go to target/mutants.out.
mutants:
	@command -v cargo-mutants >/dev/null || $(CARGO) install --locked cargo-mutants@27.1.0
	$(CARGO) mutants --output target

docs: build
	$(LOCKGATE) docs --out docs/reference

release:
	packaging/release.sh

# Links and fragments are checked on what mdBook made.
site: build
	python3 docs/site/make.py $(LOCKGATE)
	python3 docs/site/check.py target/site

# The same run draws the same bytes of the SVG; the report has the date of its run.
picture: build web/node_modules
	python3 docs/images/picture.py $(LOCKGATE)
	node docs/images/report.mjs $(LOCKGATE)

types:
	LOCKGATE_RENEW=1 $(CARGO) test --locked -p lockgate-session --test typescript
	LOCKGATE_RENEW=1 $(CARGO) test --locked -p lockgate-measure --test python

# A copy: the check of one branch must not change with another that is checked out.
hooks:
	install -D -m 755 tests/commit-msg.sh "$$(git rev-parse --git-path hooks)/commit-msg"

# Read each difference before it is committed: it says what behaves otherwise than before.
RENEWED = crates/engine/tests/compliance/fingerprints.txt crates/traffic/tests/captures crates/cli/tests/pinned crates/cli/tests/steps web/src/generated python/lockgate/_metrics.py docs/reference
renew: docs types
	LOCKGATE_RENEW=1 $(CARGO) test --locked -p lockgate-engine --test compliance fingerprints
	LOCKGATE_RENEW=1 $(CARGO) test --locked -p lockgate-traffic --test captures the_files
	LOCKGATE_RENEW=1 $(CARGO) test --locked -p lockgate-cli --test outcomes
	LOCKGATE_RENEW=1 $(CARGO) test --locked -p lockgate-cli --test steps decisions
	@git status --short -- $(RENEWED); git --no-pager diff --stat -- $(RENEWED)

weigh:
	@tests/weigh.py $(SINCE)

# Tools of package registries. Without a registry, and without pip, their tests are skipped.
tools:
	@[ -x target/tools/bin/schemathesis ] || { python3 -m venv target/tools && target/tools/bin/pip install --quiet \
	  --disable-pip-version-check --retries 1 schemathesis==4.32.5; } || echo "schemathesis cannot be installed"
	@command -v mdbook >/dev/null || [ -x target/tools/cargo/bin/mdbook ] || $(CARGO) install --quiet --locked --debug \
	  --root target/tools/cargo mdbook@0.5.4 || echo "mdbook cannot be installed"

clean:
	rm -rf target web/dist web/node_modules
