#!/bin/sh
# Makes sure that there is a screen for browsers with windows: installs Debian's Xvfb if this is Debian and we are
# root, and else says what to install.
set -eu

if command -v Xvfb >/dev/null 2>&1; then
    exit 0
fi
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "installing xvfb …"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends xvfb >/dev/null
    exit 0
fi

echo "No Xvfb found. Install it (Debian: sudo apt-get install xvfb); then try again." >&2
exit 1
