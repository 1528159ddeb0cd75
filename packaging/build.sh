#!/bin/sh
# Builds the program that is published: `build.sh [--target NAME] [PROFILE [WORD...]]`. No path of this computer goes
# into it, and the compiler is the one of packaging/rust-version: the same source gives the same bytes in each folder.
# Without a target it is this computer's, target/PROFILE/tabwire; the names of others are in packaging/targets.py, and
# the program is then target/RUST'S NAME/PROFILE/tabwire. Another profile than `dist` is built as cargo does. WORDS
# are cargo's.
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=
if [ "${1:-}" = --target ]; then
    target=$2
    shift 2
fi
profile=${1:-dist}
[ $# = 0 ] || shift
wanted=$(cat packaging/rust-version)

is_wanted() { [ "$(rustc --version 2>/dev/null | cut -d' ' -f2)" = "$wanted" ]; }

# Cargo separates these flags by a sign of its own, so the name of a folder may have spaces.
separator=$(printf '\037')
flags=
add_flag() { flags=$flags${flags:+$separator}$1; }

if [ "$profile" = dist ]; then
    if ! is_wanted && command -v rustup >/dev/null 2>&1 && rustup toolchain list | grep -q "^$wanted"; then
        export RUSTUP_TOOLCHAIN="$wanted"
    fi
    is_wanted || echo "build.sh: this is not Rust $wanted, so the bytes are not those of a release." \
        "For the same bytes: rustup toolchain install $wanted" >&2
    add_flag "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
    add_flag "--remap-path-prefix=$PWD=/tabwire"
    # Small functions are copied into their callers less often than usual, which makes the program smaller and calls a
    # little slower (docs/decisions/building.md, 522).
    add_flag -Cllvm-args=-inline-threshold=25
    # Libraries of C put the time at which they are compiled into themselves.
    export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}"
fi

if [ -z "$target" ]; then
    [ -z "$flags" ] || export CARGO_ENCODED_RUSTFLAGS="$flags"
    exec "$cargo" build --profile "$profile" --locked "$@"
fi

rust=$(python3 packaging/targets.py "$target" rust)
program=$(python3 packaging/targets.py "$target" program)
rustup target add "$rust" >/dev/null 2>&1 || echo "build.sh: cannot add Rust's target $rust" >&2
case $target in
    windows-*)
        sh scripts/need-mingw.sh
        # The linker would write the time into the program.
        add_flag -Clink-arg=-Wl,--no-insert-timestamp
        set -- build --target "$rust" "$@"
        ;;
    *)
        # Zig brings the C library of each system, in the oldest version that the program has to run with.
        zig=$PWD/target/zig
        [ -x "$zig/bin/cargo-zigbuild" ] || sh scripts/need-python.sh "$zig" packaging/requirements.txt
        export PATH="$zig/bin:$PATH"
        floor=$(python3 packaging/targets.py "$target" floor)
        ;;
esac
case $target in
    linux-*-musl)
        # Rust brings this C library itself. Its linker makes a program that moves in memory (but for ARM); Zig's does not.
        compiler=$zig/$(python3 packaging/targets.py "$target" wheel)-linux-musl
        sh scripts/zig-compiler.sh "$zig" "$(basename "$compiler")"
        name=$(echo "$rust" | tr - _)
        export "CC_$name=$compiler/cc" "AR_$name=$compiler/ar"
        add_flag -Clinker=rust-lld
        add_flag -Clinker-flavor=ld.lld
        set -- build --target "$rust" "$@"
        ;;
    linux-*) set -- zigbuild --target "$rust.$floor" "$@" ;;
    darwin-*)
        export MACOSX_DEPLOYMENT_TARGET="$floor"
        set -- zigbuild --target "$rust" "$@"
        ;;
esac
[ -z "$flags" ] || export CARGO_ENCODED_RUSTFLAGS="$flags"
"$cargo" "$@" --profile "$profile" --locked
python3 packaging/floors.py "$target" "target/$rust/$profile/$program"
