#!/bin/sh
# Makes sure that there is a Prometheus with its promtool: unpacks Debian's package into a folder, which neither
# installs nor starts anything, and else says what to install. `need-prometheus.sh FOLDER`.
set -eu
folder=$1

if command -v prometheus >/dev/null 2>&1 && command -v promtool >/dev/null 2>&1; then
    mkdir -p "$folder"
    exit 0
fi
if command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1; then
    echo "unpacking prometheus …"
    rm -rf "$folder"
    mkdir -p "$folder"
    cd "$folder"
    # An image that was cleaned has no lists of packages.
    if ! apt-get -qq download prometheus 2>/dev/null; then
        apt-get update -qq
        apt-get -qq download prometheus
    fi
    dpkg -x prometheus_*.deb .
    rm prometheus_*.deb
    exit 0
fi

echo "No Prometheus found. Install it (Debian: sudo apt-get install prometheus), then try again." >&2
exit 1
