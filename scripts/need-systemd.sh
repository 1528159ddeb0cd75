#!/bin/sh
# Makes sure that systemd's own tools check the units of `tabwire service` and hand over a socket: installs Debian's
# package if this is Debian and we are root, and else says what to install. No systemd has to run.
set -eu

if [ "$(uname)" != Linux ]; then
    exit 0
fi
if command -v systemd-analyze >/dev/null 2>&1 && command -v systemd-socket-activate >/dev/null 2>&1; then
    exit 0
fi
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "installing systemd's tools …"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends systemd >/dev/null
    exit 0
fi

echo "No systemd-analyze or systemd-socket-activate found. Install systemd (Debian: sudo apt-get install systemd); then try again." >&2
exit 1
