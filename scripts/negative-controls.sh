#!/bin/sh
# Whether the tests would notice: builds the library with one bug at a time and expects that the
# test which is there for it fails. Each bug is a patch in tests/negative-controls, and its first
# line names the test.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
work=$root/target/negative-controls
cargo=${CARGO:-cargo}
# What is built for it is built beside the rest, so that dependencies are built once.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"

for patch in "$root"/tests/negative-controls/*.patch; do
    bug=$(basename "$patch" .patch)
    test=$(sed -n '1s/^Test: //p' "$patch")
    rm -rf "$work"
    mkdir -p "$work"
    tar -c --exclude=./target --exclude=node_modules --exclude=./.git . | tar -x -C "$work"
    # Not a repository of its own: what is around it must not be taken for it.
    (cd "$work" && git init -q . && git apply "$patch") || {
        echo "$bug: the patch does not fit any more; make it anew" >&2
        exit 1
    }
    (cd "$work" && $cargo test --locked --quiet --lib --no-run) || {
        echo "$bug: does not compile any more; make the patch anew" >&2
        exit 1
    }
    if (cd "$work" && $cargo test --locked --quiet --lib -- --exact "$test") >"$work/said" 2>&1; then
        echo "$bug: $test passes all the same" >&2
        exit 1
    fi
    # It must be that test which failed, not the build or its name.
    grep -q "^test result: FAILED. 0 passed; 1 failed" "$work/said" || {
        cat "$work/said" >&2
        echo "$bug: $test was not run" >&2
        exit 1
    }
    echo "$bug: noticed by $test"
done
rm -rf "$work"
