#!/bin/sh
# Builds the published program in two clean copies of the source, in folders of different names, and compares.
set -eu
cd "$(dirname "$0")/.."

aside=$(mktemp -d)
trap 'rm -rf "$aside"' EXIT
one=$aside/one two="$aside/another folder"
for folder in "$one" "$two"; do
    mkdir -p "$folder"
    git ls-files -z | xargs -0 tar -cf - | tar -xf - -C "$folder"
    CARGO_TARGET_DIR="$folder/target" sh "$folder/packaging/build.sh"
done
if cmp "$one/target/dist/tabwire" "$two/target/dist/tabwire"; then
    echo "two folders give the same program: $(sha256sum "$one/target/dist/tabwire" | cut -d' ' -f1)"
else
    kept=target/same-program
    mkdir -p "$kept"
    cp "$one/target/dist/tabwire" "$kept/one"
    cp "$two/target/dist/tabwire" "$kept/two"
    echo "The programs of two folders differ; $kept has both. Look for a folder's name in them:" >&2
    echo "  strings -n 12 $kept/one | grep -e $aside -e \"\$HOME\"" >&2
    exit 1
fi
