#!/bin/sh
# Builds the program that is published, for this computer: target/dist/tabwire. No path of this computer goes into
# it, and the compiler is the one of packaging/rust-version: the same source gives the same bytes in each folder.
# `build.sh PROFILE` builds another profile as cargo does; words behind that are cargo's.
set -eu
cd "$(dirname "$0")/.."

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
    export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$crates=/cargo${separator}--remap-path-prefix=$PWD=/tabwire"
fi
"$cargo" build --profile "$profile" --locked "$@"
