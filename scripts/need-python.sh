#!/bin/sh
# Makes a Python environment of its own with the packages of a list, unless it is there:
# `need-python.sh FOLDER REQUIREMENTS`. Installs Debian's venv if this is Debian, we are root and
# it is missing, and else says what to install.
set -eu
folder=$1
requirements=$2

if ! python3 -c 'import ensurepip, sys, venv; assert sys.version_info >= (3, 10)' 2>/dev/null; then
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "installing python3-venv …"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
    else
        echo "No Python with venv found. Install Python 3.10 or newer (Debian: sudo apt-get" >&2
        echo "install python3-venv), then try again." >&2
        exit 1
    fi
fi

rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"
