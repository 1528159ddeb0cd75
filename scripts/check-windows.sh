#!/bin/sh
# Builds the program for Windows, and runs it and its unit tests under Wine. `check-windows.sh build` only builds.
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=x86_64-pc-windows-gnu
folder=$PWD/target/windows
built=$folder/$target/debug
export CARGO_TARGET_DIR=$folder

rustup target add "$target" >/dev/null 2>&1
"$cargo" clippy --locked --target "$target" --lib --bins -- --deny warnings
"$cargo" build --locked --target "$target"
# Libraries that each Windows has since version 10: with any other one the program would start on this computer alone.
system='advapi32 bcryptprimitives combase iphlpapi kernel32 ktmw32 msvcrt ntdll oleaut32 shell32 userenv ws2_32'
for library in $(x86_64-w64-mingw32-objdump -p "$built/tabwire.exe" | sed -n 's/.*DLL Name: \(.*\)\.dll$/\1/Ip' | tr A-Z a-z); do
    case "$library" in api-ms-win-*) continue ;; esac
    case " $system " in *" $library "*) ;; *) echo "the program needs $library.dll" >&2; exit 1 ;; esac
done
[ "${1:-}" != build ] || exit 0
tests=$("$cargo" test --locked --target "$target" --lib --no-run --message-format json |
    sed -n 's/.*"executable":"\([^"]*\.exe\)".*/\1/p' | tail -1)
[ -n "$tests" ] || { echo "the unit tests for Windows are not built" >&2; exit 1; }

# Of Wine's own: no window, no notes, and no other program's settings. Wine keeps rights as modes of Unix, and
# files that are made without rights get them by the umask.
export WINEPREFIX=$PWD/target/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
umask 077
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
server=/usr/lib/wine/wineserver64
[ -x "$server" ] || server=wineserver
for place in "$built" "$built/deps"; do
    x86_64-w64-mingw32-gcc -shared -O1 -o "$place/bcryptprimitives.dll" tests/windows/bcryptprimitives.c -ladvapi32
done
# Ends the processes of this prefix, and no others.
trap '"$server" -k || true' EXIT
[ -f "$WINEPREFIX/system.reg" ] || "$wine" wineboot --init
# A server that stays, unless one runs already: the next program starts in a tenth of the time.
"$server" -p || true

skipped=$(sed -n 's/^\([a-z][^ ]*\).*/--skip \1/p' tests/windows/skipped.txt)
# shellcheck disable=SC2086
RUST_TEST_THREADS=4 "$wine" "$tests" --quiet $skipped
TABWIRE_WINE=$wine TABWIRE_PROGRAM=$built/tabwire.exe python3 tests/windows/test_windows.py
