#!/usr/bin/env bash
# Builds the Kubernetes binaries that our tests and the cluster on one machine run, from Go modules alone.
#   build.sh            etcd, kube-apiserver, kube-controller-manager, kubectl, helm: what the tests of objects and of the chart take
#   build.sh cluster    those, and what a node takes: kubelet, containerd and so on
# Prints the folder that holds them as its last line. A second run finds them in the cache and takes no time.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

version_of() { # module folder, module
  awk -v module="$2" '$1 == "require" && $2 == module { print $3 }' "$here/$1/go.mod"
}
kubernetes_version=$(version_of kubernetes k8s.io/kubernetes)
etcd_version=$(version_of etcd go.etcd.io/etcd/server/v3)
containerd_version=$(version_of containerd github.com/containerd/containerd/v2)
coredns_version=$(version_of coredns github.com/coredns/coredns)
helm_version=$(version_of helm helm.sh/helm/v3)
cache=${AGENTBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/agentbox}
bin="$cache/kubernetes-bed/kubernetes-$kubernetes_version-etcd-$etcd_version"
minor=${kubernetes_version#v1.}
minor=${minor%%.*}

say() { printf '%s\n' "$*" >&2; }

case "${1:-}" in
  "") with_node=false kubernetes_commands=(kube-apiserver kube-controller-manager kubectl) minutes=9 ;;
  cluster)
    with_node=true minutes=15
    kubernetes_commands=(kube-apiserver kube-controller-manager kubectl kubelet kube-scheduler kube-proxy)
    ;;
  *)
    say "build.sh: no such set of programs: $1; there is 'cluster', and without an argument what the tests of objects take"
    exit 2
    ;;
esac
containerd_commands=(containerd containerd-shim-runc-v2 ctr)

# The folder's name carries the versions of Kubernetes and etcd; of the others a mark beside the binary says which it is.
mark_of() { # name, version
  printf '%s/.%s-%s' "$bin" "$1" "$2"
}

missing=()
for name in etcd "${kubernetes_commands[@]}"; do
  [ -x "$bin/$name" ] || missing+=("$name")
done
if $with_node; then
  for name in "${containerd_commands[@]}"; do
    [ -e "$(mark_of "$name" "$containerd_version")" ] || missing+=("$name")
  done
  [ -e "$(mark_of coredns "$coredns_version")" ] || missing+=(coredns)
fi
# It renders for the version of Kubernetes that it was built for.
helm_build=$helm_version-for-1.$minor
[ -e "$(mark_of helm "$helm_build")" ] || missing+=(helm)
if [ ${#missing[@]} -eq 0 ]; then
  printf '%s\n' "$bin"
  exit 0
fi

if ! command -v go >/dev/null 2>&1; then
  say "A real Kubernetes is built from source and needs Go 1.26 or newer; there is no 'go' on PATH."
  say "Install it, for example:  apt-get install golang-go   (or any Go; it fetches the toolchain it needs)"
  exit 1
fi

mkdir -p "$bin"
# Without these the server calls itself v0.0.0-master.
stamp="-X k8s.io/component-base/version.gitVersion=$kubernetes_version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor"

# Builds to a name of its own first, so that an interrupted build never leaves half a binary under the final name.
build() { # name, module folder, package, ldflags
  local name=$1 module=$2 package=$3 ldflags=$4 began=$SECONDS
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

build_marked() { # name, version, module folder, package, ldflags
  local mark
  mark=$(mark_of "$1" "$2")
  [ -e "$mark" ] && return
  build "$1" "$3" "$4" "$5"
  touch "$mark"
}

say "Building ${missing[*]} from Go modules (all of it takes about $minutes minutes on two cores, once; kept in $bin)"
[ -x "$bin/etcd" ] || build etcd "$here/etcd" go.etcd.io/etcd/server/v3 ""
for name in "${kubernetes_commands[@]}"; do
  [ -x "$bin/$name" ] || build "$name" "$here/kubernetes" "k8s.io/kubernetes/cmd/$name" "$stamp"
done
if $with_node; then
  containerd_module=github.com/containerd/containerd/v2
  for name in "${containerd_commands[@]}"; do
    build_marked "$name" "$containerd_version" "$here/containerd" "$containerd_module/cmd/$name" \
      "-X $containerd_module/version.Version=$containerd_version"
  done
  build_marked coredns "$coredns_version" "$here/coredns" . ""
fi
helm_module=helm.sh/helm/v3
helm_stamp="-X $helm_module/internal/version.version=$helm_version"
for package in chartutil lint/rules; do
  helm_stamp+=" -X $helm_module/pkg/$package.k8sVersionMajor=1 -X $helm_module/pkg/$package.k8sVersionMinor=$minor"
done
build_marked helm "$helm_build" "$here/helm" "$helm_module/cmd/helm" "$helm_stamp"
printf '%s\n' "$bin"
