#!/bin/sh
# Checks on another system that everything compiles for macOS without a warning: library, program,
# tests and benchmarks. Nothing is linked or run. C code of dependencies is compiled by the compiler
# in the Python package `ziglang`, which has the headers of macOS.
set -eu

cargo=${CARGO:-cargo}
target=aarch64-apple-darwin
tools=target/zig

rustup target add "$target"
[ -x "$tools/bin/python" ] || sh scripts/need-python.sh "$tools" scripts/macos-requirements.txt

here=$(pwd)/$tools
# Names the target in its own words, and none of those that cargo's build scripts pass.
cat >"$tools/cc" <<END
#!/bin/sh
for argument; do
    shift
    case \$argument in
    --target=* | -mmacosx-version-min=*) ;;
    *) set -- "\$@" "\$argument" ;;
    esac
done
exec "$here/bin/python" -m ziglang cc -target aarch64-macos "\$@"
END
printf '#!/bin/sh\nexec "%s/bin/python" -m ziglang ar "$@"\n' "$here" >"$tools/ar"
chmod 755 "$tools/cc" "$tools/ar"

CC_aarch64_apple_darwin=$here/cc AR_aarch64_apple_darwin=$here/ar \
    "$cargo" clippy --locked --all-targets --target "$target" -- --deny warnings
