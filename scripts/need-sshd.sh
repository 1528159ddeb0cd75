#!/bin/sh
# Makes sure that there are ssh, sshd and, on Linux, strace: installs Debian's packages if this is Debian and we are
# root, and else says what to install. No service has to run: tests start an sshd of their own on a port of the loopback.
set -eu

PATH="$PATH:/usr/sbin:/sbin"
missing=
command -v ssh >/dev/null 2>&1 || missing="$missing openssh-client"
command -v sshd >/dev/null 2>&1 || missing="$missing openssh-server"
if [ "$(uname)" = Linux ] && ! command -v strace >/dev/null 2>&1; then
    missing="$missing strace"
fi
if [ -z "$missing" ]; then
    exit 0
fi
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "installing$missing …"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
    exit 0
fi

echo "Missing:$missing. Install these (Debian: sudo apt-get install$missing); then try again." >&2
exit 1
