#!/bin/sh
# Builds the fastest program for this computer: target/fast/tabwire. The compiler is told which functions run, and how often
# (profile-guided optimization): a first program writes that down while the benchmarks let it work, and the second is
# built by it. Larger than the program that is published, and other bytes each time.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
host=$(rustc -vV | sed -n 's/^host: //p')
# Only the tool of the compiler's own LLVM reads what its programs write.
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
if [ ! -x "$profdata" ] && command -v rustup >/dev/null 2>&1; then
    rustup component add llvm-tools || true
fi
if [ ! -x "$profdata" ]; then
    echo "fast.sh: there is no $profdata. It comes with: rustup component add llvm-tools" >&2
    exit 1
fi

aside=$PWD/target/learning
raw=$aside/raw

# With a target, scripts and macros that run while the program is built write nothing down.
build() {
    CARGO_ENCODED_RUSTFLAGS="$1" CARGO_TARGET_DIR="$aside" \
        "$cargo" build --locked --profile fast --target "$host" --bin tabwire
}

build "-Cprofile-generate=$raw"
rm -rf "$raw"
mkdir -p "$raw"
# Each process writes a file of its own when it ends.
TABWIRE_PROGRAM="$aside/$host/fast/tabwire" LLVM_PROFILE_FILE="$raw/%p.profraw" \
    "$cargo" bench --locked --profile release --bench figures -- --quick \
    --part path --part rate --part burst --part carriers --part start
"$profdata" merge -o "$raw/all.profdata" "$raw"/*.profraw
# Cargo builds anew only for another name.
record=$raw/$(cksum "$raw/all.profdata" | cut -d' ' -f1).profdata
mv "$raw/all.profdata" "$record"
build "-Cprofile-use=$record"
mkdir -p target/fast
cp "$aside/$host/fast/tabwire" target/fast/tabwire
echo "target/fast/tabwire: $(wc -c <target/fast/tabwire) bytes"
