#!/usr/bin/env bash
# Builds etcd and the Kubernetes binaries that our tests run against, from Go modules alone.
# Prints the folder that holds them as its last line. A second run finds them in the cache and takes no time.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

kubernetes_version=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" { print $3 }' "$here/kubernetes/go.mod")
etcd_version=$(awk '$1 == "require" && $2 == "go.etcd.io/etcd/server/v3" { print $3 }' "$here/etcd/go.mod")
cache=${AGENTBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/agentbox}
bin="$cache/kubernetes-bed/kubernetes-$kubernetes_version-etcd-$etcd_version"

say() { printf '%s\n' "$*" >&2; }

kubernetes_commands=(kube-apiserver kube-controller-manager kubectl)

missing=()
for name in etcd "${kubernetes_commands[@]}"; do
  [ -x "$bin/$name" ] || missing+=("$name")
done
if [ ${#missing[@]} -eq 0 ]; then
  printf '%s\n' "$bin"
  exit 0
fi

if ! command -v go >/dev/null 2>&1; then
  say "The Kubernetes tests build a real API server from source and need Go 1.26 or newer; there is no 'go' on PATH."
  say "Install it, for example:  apt-get install golang-go   (or any Go; it fetches the toolchain it needs)"
  exit 1
fi

mkdir -p "$bin"
minor=${kubernetes_version#v1.}
minor=${minor%%.*}
# Without these the server calls itself v0.0.0-master.
stamp="-X k8s.io/component-base/version.gitVersion=$kubernetes_version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor"

# Builds to a name of its own first, so that an interrupted build never leaves half a binary under the final name.
build() { # name, module folder, package, ldflags
  local name=$1 module=$2 package=$3 ldflags=$4 began=$SECONDS
  [ -x "$bin/$name" ] && return
  say "  building $name …"
  (cd "$module" && CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "-s -w $ldflags" -o "$bin/.$name.part" "$package") &
  local pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    for _ in $(seq 30); do kill -0 "$pid" 2>/dev/null || break; sleep 1; done
    kill -0 "$pid" 2>/dev/null && say "  building $name … $((SECONDS - began)) s"
  done
  wait "$pid"
  mv "$bin/.$name.part" "$bin/$name"
  say "  built $name in $((SECONDS - began)) s"
}

say "Building Kubernetes $kubernetes_version and etcd $etcd_version from Go modules (about 8 minutes on two cores, once; kept in $bin)"
build etcd "$here/etcd" go.etcd.io/etcd/server/v3 ""
for name in "${kubernetes_commands[@]}"; do
  build "$name" "$here/kubernetes" "k8s.io/kubernetes/cmd/$name" "$stamp"
done
printf '%s\n' "$bin"
