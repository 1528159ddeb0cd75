#!/bin/sh
# Writes a compiler and an archiver of C for another system, which Zig has with its headers: `zig-compiler.sh ZIG TARGET`
# makes TARGET/cc and TARGET/ar in the folder ZIG, a Python environment with the package `ziglang`.
set -eu
zig=$(cd "$1" && pwd)
target=$2

mkdir -p "$zig/$target"
# Names the target in Zig's own words, and none of those that cargo's build scripts pass.
cat >"$zig/$target/cc" <<END
#!/bin/sh
for argument; do
    shift
    case \$argument in
    --target=* | -mmacosx-version-min=*) ;;
    *) set -- "\$@" "\$argument" ;;
    esac
done
exec "$zig/bin/python" -m ziglang cc -target $target -fno-sanitize=undefined "\$@"
END
printf '#!/bin/sh\nexec "%s/bin/python" -m ziglang ar "$@"\n' "$zig" >"$zig/$target/ar"
chmod 755 "$zig/$target/cc" "$zig/$target/ar"
