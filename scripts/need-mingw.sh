#!/bin/sh
# Makes sure that programs for Windows can be built here: installs Debian's mingw-w64 if this is Debian and we are root,
# and else says what to install.
set -eu

if command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1; then
    exit 0
fi
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "installing mingw-w64 …"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends gcc-mingw-w64-x86-64-win32 >/dev/null
    exit 0
fi

echo "No mingw-w64 found. Install it (Debian: sudo apt-get install gcc-mingw-w64-x86-64-win32); then try again." >&2
exit 1
