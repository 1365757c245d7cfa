#!/usr/bin/env bash
# Makes sure that there is a runc without known ways out of containers: Debian 12 and 13 have none. Where the machine's own runc is fixed,
# nothing is done. Else one is built from Go modules, once, and kept; `agentbox up` finds it there (src/engines/embedded/node/runtime).
# Prints the path of the runc as its last line.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${AGENTBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/agentbox}/runc
version=$(awk '$1 == "require" && $2 == "github.com/opencontainers/runc" { print $3 }' "$here/go.mod")
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

say() { printf '%s\n' "$*" >&2; }

# A runc that is named is taken; `agentbox up` checks at its start whether it is fixed.
if [ -n "${AGENTBOX_RUNC:-}" ]; then
  printf '%s\n' "$AGENTBOX_RUNC"
  exit 0
fi

# CVE-2025-31133, -52565 and -52881 were fixed in 1.2.8, 1.3.3 and 1.4.0-rc.3 (src/engines/embedded/node/runtime/known-escapes.ts).
is_fixed() { # version
  local line=${1%.*}
  case "$line" in
    1.2) [ "${1##*.}" -ge 8 ] ;;
    1.3) [ "${1##*.}" -ge 3 ] ;;
    0.* | 1.0 | 1.1) false ;;
    *) true ;;
  esac
}

if [ -x "$cache/runc" ] && [ -e "$cache/.built-$version" ]; then
  printf '%s\n' "$cache/runc"
  exit 0
fi
if command -v runc >/dev/null 2>&1; then
  own=$(runc --version | sed -n 's/^runc version \([0-9]*\.[0-9]*\.[0-9]*\).*/\1/p')
  if [ -n "$own" ] && is_fixed "$own"; then
    command -v runc
    exit 0
  fi
fi
if [ "${AGENTBOX_ALLOW_VULNERABLE_RUNC:-}" = 1 ]; then
  "$here/../setup.sh" packages runc=runc
  say "WARNING: no runc is built, because AGENTBOX_ALLOW_VULNERABLE_RUNC=1. The machine's own has known ways out of containers."
  command -v runc
  exit 0
fi

work=
trap '[ -z "$work" ] || { chmod -R u+w "$work" 2>/dev/null || true; rm -rf "$work"; }' EXIT

# A Go that is new enough, or the toolchain as Go itself would fetch it: a module, checked by its hash here. It goes when runc is built.
wanted_go=$(awk '$1 == "go" { print $2 }' "$here/go.mod")
fetched_go=1.26.8
fetch_go() {
  local arch hash
  case "$(uname -m)" in
    x86_64) arch=amd64 hash=30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7 ;;
    aarch64 | arm64) arch=arm64 hash=02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99 ;;
    *) say "runc is built on x86_64 and arm64; this machine is $(uname -m)."; return 1 ;;
  esac
  # Debian's own Go may be too old to build runc, and still fetches a newer one: the toolchain is a module like any other.
  "$here/../setup.sh" packages go=golang-go /etc/ssl/certs/ca-certificates.crt=ca-certificates
  say "  fetching Go $fetched_go (70 MB), only for this …"
  work=$(mktemp -d)
  local module="golang.org/toolchain@v0.0.1-go$fetched_go.linux-$arch"
  (cd "$work" && GOPATH="$work/path" GOMODCACHE="$work/mod" GONOSUMDB='golang.org/toolchain' GOTOOLCHAIN=local go mod download "$module")
  printf '%s  %s\n' "$hash" "$work/mod/cache/download/golang.org/toolchain/@v/${module#*@}.zip" | sha256sum --check --quiet
  local root="$work/mod/$module"
  chmod -R u+w "$root"
  # Modules carry no modes.
  chmod +x "$root"/bin/* "$root"/pkg/tool/*/*
  export PATH="$root/bin:$PATH" GOTOOLCHAIN=local GOPATH="$work/path" GOCACHE="$work/cache"
}

began=$SECONDS
say "Building runc $version from Go modules (once, one to four minutes; kept in $cache), because this machine has none without known escapes …"
"$here/../setup.sh" packages cc=gcc pkg-config=pkg-config /usr/include/stdio.h=libc6-dev /usr/include/seccomp.h=libseccomp-dev
have_go=$(go env GOVERSION 2>/dev/null | sed 's/^go//' || true)
if [ -z "$have_go" ] || [ "$(printf '%s\n%s\n' "$wanted_go" "$have_go" | sort -V | head -n 1)" != "$wanted_go" ]; then
  fetch_go || { say "Without Go $wanted_go or newer runc cannot be built. Install one, or a runc of 1.2.8, 1.3.3 or newer."; exit 1; }
fi

mkdir -p "$cache"
stamp="-s -w -X main.version=${version#v} -X main.gitCommit=agentbox-$version"
# To a name of its own first, so that an interrupted build never leaves half a binary under the final name.
(cd "$here" && CGO_ENABLED=1 go build -mod=readonly -trimpath -buildvcs=false -tags seccomp -ldflags "$stamp" \
  -o "$cache/.runc.part" github.com/opencontainers/runc) &
pid=$!
while kill -0 "$pid" 2>/dev/null; do
  for _ in $(seq 15); do kill -0 "$pid" 2>/dev/null || break; sleep 1; done
  kill -0 "$pid" 2>/dev/null && say "  building runc … $((SECONDS - began)) s"
done
if ! wait "$pid"; then
  say "runc could not be built; see above. Install a runc of 1.2.8, 1.3.3, 1.4.0 or newer, or set AGENTBOX_ALLOW_VULNERABLE_RUNC=1 if all code in your sandboxes is trusted."
  exit 1
fi
"$cache/.runc.part" --version | grep -q '^libseccomp:' || { say "the runc that was built has no seccomp"; exit 1; }
mv "$cache/.runc.part" "$cache/runc"
rm -f "$cache"/.built-*
touch "$cache/.built-$version"
say "Built runc $version in $((SECONDS - began)) s."
printf '%s\n' "$cache/runc"
