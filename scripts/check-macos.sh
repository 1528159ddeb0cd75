#!/bin/sh
# Checks on another system that everything compiles for macOS without a warning: library, program,
# tests and benchmarks. Nothing is linked or run. C code of dependencies is compiled by the compiler
# in the Python package `ziglang`, which has the headers of macOS.
set -eu

cargo=${CARGO:-cargo}
target=aarch64-apple-darwin
tools=target/zig

rustup target add "$target"
[ -x "$tools/bin/cargo-zigbuild" ] || sh scripts/need-python.sh "$tools" packaging/requirements.txt
sh scripts/zig-compiler.sh "$tools" aarch64-macos
here=$(pwd)/$tools/aarch64-macos

CC_aarch64_apple_darwin=$here/cc AR_aarch64_apple_darwin=$here/ar \
    "$cargo" clippy --locked --all-targets --target "$target" -- --deny warnings
