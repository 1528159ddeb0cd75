#!/bin/sh
# Makes sure that there is a Chromium: installs Debian's if this is Debian and we are root,
# and else says what to install.
set -eu

if [ -n "${TABWIRE_BROWSER:-}" ]; then
    exit 0
fi
for program in chromium chromium-browser chrome-for-testing; do
    if command -v "$program" >/dev/null 2>&1; then
        exit 0
    fi
done

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "installing chromium …"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium >/dev/null
    exit 0
fi

echo "No Chromium found. Install it (Debian: sudo apt-get install chromium), or name a" >&2
echo "Chromium or Chrome for Testing in TABWIRE_BROWSER; then try again." >&2
exit 1
