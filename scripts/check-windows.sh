#!/bin/sh
# Builds the program for Windows, and runs it, its unit tests and MCP's conformance suite by Wine.
# `check-windows.sh build` only builds.
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=x86_64-pc-windows-gnu
built=$PWD/target/$target/debug

rustup target add "$target" >/dev/null 2>&1
"$cargo" clippy --locked --target "$target" --features fleet --lib --bins --examples -- --deny warnings
"$cargo" build --locked --target "$target" --bin tabwire --example conformance
python3 packaging/floors.py windows-x64 "$built/tabwire.exe"
[ "${1:-}" != build ] || exit 0
tests=$("$cargo" test --locked --target "$target" --lib --no-run --message-format json |
    sed -n 's/.*"executable":"\([^"]*\.exe\)".*/\1/p' | tail -1)
[ -n "$tests" ] || { echo "the unit tests for Windows are not built" >&2; exit 1; }

wine=$PWD/scripts/by-wine.sh
trap '"$wine" --end' EXIT
"$wine" --stay

# What Wine keeps of a file's rights are modes of Unix, and files that are made without rights get them by the umask.
umask 077
skipped=$(sed -n 's/^\([a-z][^ ]*\).*/--skip \1/p' tests/windows/skipped.txt)
# shellcheck disable=SC2086
RUST_TEST_THREADS=4 "$wine" "$tests" --quiet $skipped
TABWIRE_WINE=$wine TABWIRE_PROGRAM=$built/tabwire.exe python3 tests/windows/test_windows.py

# The suite is a program of this system, and starts each build by one name.
as_program() {
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wine" "$1" >"$2"
    chmod 755 "$2"
}
as_program "$built/tabwire.exe" "$built/tabwire-by-wine"
as_program "$built/examples/conformance.exe" "$built/conformance-by-wine"
TABWIRE_PROGRAM=$built/tabwire-by-wine TABWIRE_FIXTURES=$built/conformance-by-wine \
    tests/conformance/node_modules/.bin/node tests/conformance/run.js
