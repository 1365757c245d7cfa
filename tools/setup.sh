#!/usr/bin/env bash
# Installs what AgentBox needs on a Debian or Ubuntu machine. Safe to run again; `make` runs it when the lock file changes.
#   tools/setup.sh packages COMMAND=PACKAGE …   makes sure that these commands are there, installing the packages that bring them
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# Debian packages for the commands that are missing: installed if we may, named otherwise.
if [ "${1:-}" = packages ]; then
  shift
  missing=()
  for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null 2>&1 || compgen -G "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
  done
  [ ${#missing[@]} -eq 0 ] && exit 0
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    say "Missing on this machine: ${missing[*]}. Install with:  sudo apt-get install -y ${missing[*]}"
    exit 1
  fi
  say "Installing ${missing[*]} …"
  apt-get update -qq
  # No service of a package is started: we only want its commands.
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  exit 0
fi

if ! command -v npm >/dev/null 2>&1; then
  say "AgentBox needs npm (with any Node of version 18 or newer) to install the Node that it runs on."
  say "Install it with:  apt-get install -y nodejs npm"
  exit 1
fi
major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
if [ "$major" -lt 18 ]; then
  say "npm here runs on Node $major; it must be 18 or newer. Install it with:  apt-get install -y nodejs npm"
  exit 1
fi

began=$SECONDS
say "Setting up AgentBox (npm packages and Node; once, about half a minute) …"
# No install script of any package runs: the packages that we use need none, and unused scripts are a risk. Versions and hashes come from the lock file.
# Not `npm ci`: it refuses a lock file without the binaries of other systems.
npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error

case "$(uname -m)" in
  x86_64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) say "AgentBox runs on x86_64 and arm64; this machine is $(uname -m)."; exit 1 ;;
esac
node="node_modules/node-linux-$arch/bin/node"
if ! "$node" --version >/dev/null 2>&1; then
  # Node links against libatomic, which minimal systems leave out.
  if ldd "$node" 2>/dev/null | grep -q 'libatomic.*not found'; then
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
      say "Installing libatomic1, which Node needs …"
      apt-get update -qq && apt-get install -y -qq libatomic1 >/dev/null
    else
      say "Node needs a library that is not here. Install it with:  sudo apt-get install -y libatomic1"
      exit 1
    fi
  fi
  "$node" --version >/dev/null || { say "The Node at $node does not start; see the message above."; exit 1; }
fi
say "Set up in $((SECONDS - began)) s (Node $("$node" --version))."
