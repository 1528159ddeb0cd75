#!/bin/sh
# Makes sure that programs for Windows can be built and run here: installs Debian's mingw-w64 and Wine if this is Debian
# and we are root, and else says what to install.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }

if has x86_64-w64-mingw32-gcc && { has wine64 || [ -x /usr/lib/wine/wine64 ]; }; then
    exit 0
fi
if has apt-get && [ "$(id -u)" = 0 ]; then
    echo "installing mingw-w64 and wine …"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends gcc-mingw-w64-x86-64-win32 wine64 wine >/dev/null
    exit 0
fi

echo "No mingw-w64 or no Wine found. Install them (Debian: sudo apt-get install gcc-mingw-w64-x86-64-win32 wine64" >&2
echo "wine); then try again." >&2
exit 1
