#!/bin/sh
# Downloads Tabwire, checks its sum and puts it into ~/.local/bin:
#   curl -fsSL URL/install.sh | sh
# TABWIRE_RELEASES names another place of the releases, TABWIRE_BIN another folder.
set -eu

version=@VERSION@
releases=${TABWIRE_RELEASES:-@RELEASES@}
folder=${TABWIRE_BIN:-$HOME/.local/bin}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no build for $(uname -s)" ;;
esac
case $(uname -m) in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) fail "there is no build for $(uname -m)" ;;
esac
target=$system-$cpu
# The loader of musl is there, and that of the GNU C library is not.
if [ "$system" = linux ] && ls /lib/ld-musl-* >/dev/null 2>&1 && ! ls /lib*/ld-linux-* >/dev/null 2>&1; then
    target=$target-musl
fi

if command -v curl >/dev/null 2>&1; then
    get() { curl -fsSL "$1" -o "$2"; }
elif command -v wget >/dev/null 2>&1; then
    get() { wget -q "$1" -O "$2"; }
else
    fail "install curl or wget first"
fi
if command -v sha256sum >/dev/null 2>&1; then
    sum() { sha256sum "$1" | cut -d' ' -f1; }
else
    sum() { shasum -a 256 "$1" | cut -d' ' -f1; }
fi

aside=$(mktemp -d)
trap 'rm -rf "$aside"' EXIT
# A quarter smaller; macOS reads it by itself, and Linux with the program xz.
form=tar.gz unpack=-xzf
if [ "$system" = darwin ] || command -v xz >/dev/null 2>&1; then
    form=tar.xz unpack=-xJf
fi
archive=tabwire-$version-$target.$form
get "$releases/$archive" "$aside/$archive" || fail "cannot download $releases/$archive"
get "$releases/SHA256SUMS" "$aside/SHA256SUMS" || fail "cannot download $releases/SHA256SUMS"
wanted=$(awk -v name="$archive" '$2 == name { print $1 }' "$aside/SHA256SUMS")
[ -n "$wanted" ] || fail "SHA256SUMS does not name $archive"
[ "$(sum "$aside/$archive")" = "$wanted" ] ||
    fail "$archive is not the file that SHA256SUMS names. Nothing was installed; try again"

tar "$unpack" "$aside/$archive" -C "$aside"
mkdir -p "$folder"
# Beside the old one first: a program that runs cannot be written over.
cp "$aside/tabwire-$version-$target/tabwire" "$folder/.tabwire.new"
chmod 755 "$folder/.tabwire.new"
mv -f "$folder/.tabwire.new" "$folder/tabwire"
echo "Tabwire $version is at $folder/tabwire."
case :$PATH: in
    *:"$folder":*) echo "Next: tabwire install" ;;
    *) echo "Next: $folder/tabwire install   ($folder is not in your PATH)" ;;
esac
