#!/bin/sh
# Unpacks Debian's NATS server, which is too old for places, into a folder: it neither installs nor starts anything.
# `need-old-nats.sh FOLDER`; fails where there is none or it is not that old.
set -eu
folder=$1

rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
# An image that was cleaned has no lists of packages.
if ! apt-get -qq download nats-server 2>/dev/null; then
    apt-get update -qq
    apt-get -qq download nats-server
fi
dpkg -x nats-server_*.deb .
rm nats-server_*.deb
usr/sbin/nats-server -v | grep -q 'v2\.9\.10$'
