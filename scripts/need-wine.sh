#!/bin/sh
# Makes sure that programs for Windows can be built and run here: installs Debian's mingw-w64 and Wine if this is Debian
# and we are root, and else says what to install.
set -eu
sh "$(dirname "$0")/need-mingw.sh"

has() { command -v "$1" >/dev/null 2>&1; }

if has wine64 || [ -x /usr/lib/wine/wine64 ]; then
    exit 0
fi
if has apt-get && [ "$(id -u)" = 0 ]; then
    echo "installing wine …"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends wine64 wine >/dev/null
    exit 0
fi

echo "No Wine found. Install it (Debian: sudo apt-get install wine64 wine); then try again." >&2
exit 1
