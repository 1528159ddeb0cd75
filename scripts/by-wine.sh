#!/bin/sh
# Runs a program for Windows by Wine: `by-wine.sh PROGRAM WORD...`. Wine's files are in target/wine, which `by-wine.sh --path`
# prints, and no other Wine is touched. `--stay` keeps its server, so that a program starts in a tenth of the time; `--end`
# ends the server and all programs of that folder.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

# Of Wine's own: no window, no notes, and no other program's settings. Wine keeps rights as modes of Unix, and files that
# are made without rights get them by the umask.
export WINEPREFIX=$here/target/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
umask 077
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
server=/usr/lib/wine/wineserver64
[ -x "$server" ] || server=wineserver

case ${1:-} in
    --path)
        echo "$WINEPREFIX"
        exit
        ;;
    --stay)
        # Its services hold the pipes of the program that starts them, so nobody's are there. One that runs already would
        # end in a moment.
        "$server" -k || true
        "$server" -w || true
        mkdir -p "$WINEPREFIX"
        "$server" -p
        exec "$wine" wineboot --init </dev/null >/dev/null 2>&1
        ;;
    --end)
        "$server" -k || true
        exit
        ;;
esac

[ -f "$WINEPREFIX/system.reg" ] || "$wine" wineboot --init >/dev/null
# Stands in for a library that the Wine of Debian 12 lacks.
library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
[ -f "$library" ] ||
    x86_64-w64-mingw32-gcc -shared -O1 -o "$library" "$here/tests/windows/bcryptprimitives.c" -ladvapi32
exec "$wine" "$@"
