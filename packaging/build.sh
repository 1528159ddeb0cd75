#!/bin/sh
# Builds the program that is published, for this computer: target/dist/tabwire. No path of this computer goes into
# it, and the compiler is the one of packaging/rust-version: the same source gives the same bytes in each folder.
# `build.sh PROFILE` builds another profile as cargo does; words behind that are cargo's. `build.sh --code-flags`
# prints the compiler's flags for the code itself, for a measurement of the same program.
set -eu
cd "$(dirname "$0")/.."

# Small functions are copied into their callers less often than usual: the program is a tenth smaller, and a call
# takes a twentieth more of the processor.
code_flags=-Cllvm-args=-inline-threshold=80
if [ "${1:-}" = --code-flags ]; then
    echo "$code_flags"
    exit
fi

cargo=${CARGO:-cargo}
profile=${1:-dist}
[ $# = 0 ] || shift
wanted=$(cat packaging/rust-version)

is_wanted() { [ "$(rustc --version 2>/dev/null | cut -d' ' -f2)" = "$wanted" ]; }

if [ "$profile" = dist ]; then
    if ! is_wanted && command -v rustup >/dev/null 2>&1 && rustup toolchain list | grep -q "^$wanted"; then
        export RUSTUP_TOOLCHAIN="$wanted"
    fi
    is_wanted || echo "build.sh: this is not Rust $wanted, so the bytes are not those of a release." \
        "For the same bytes: rustup toolchain install $wanted" >&2
    crates=${CARGO_HOME:-$HOME/.cargo}
    # Cargo separates these flags by a sign of its own, so the name of a folder may have spaces.
    separator=$(printf '\037')
    export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$crates=/cargo${separator}--remap-path-prefix=$PWD=/tabwire${separator}$code_flags"
fi
"$cargo" build --profile "$profile" --locked "$@"
