# The steps that several boots have in common.

facts() {
  say "::fact kernel $(uname -r), $(stat -fc %T /sys/fs/cgroup), systemd $(systemctl --version | head -n 1 | cut -d' ' -f2), AppArmor $(cat /sys/module/apparmor/parameters/enabled 2>/dev/null || echo none)"
  say "::fact Debian's $(runc --version | head -n 1)"
}

# As from a terminal: `make up` in the foreground of a process of its own.
start_server() {
  setsid make up >/var/log/agentbox-up.log 2>&1 &
  echo $! >/run/agentbox-up.pid
  if ! eventually answers_or_ended || ! server_answers; then
    tail -n 40 /var/log/agentbox-up.log "$AGENTBOX_HOME"/logs/agentbox.log
    return 1
  fi
}

# A server that has ended will not answer, however long it is waited for.
answers_or_ended() {
  server_answers || gone "$(cat /run/agentbox-up.pid)"
}

server_answers() {
  bin/agentbox ls >/dev/null 2>&1
}

pools_are_ready() {
  bin/agentbox get sbp base -o json 2>/dev/null | json 'd["status"].get("idleReplicas", 0) - d["status"].get("unavailableIdleReplicas", 0) >= 1'
}

# Succeeds if a Python expression about the JSON on standard input, `d`, is true.
json() { # expression
  python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(0 if ($1) else 1)" 2>/dev/null
}

first_pods() {
  eventually pools_are_ready || { bin/agentbox get sbp; bin/agentbox get pods; return 1; }
}

run_python() {
  local out
  out=$(bin/agentbox run base -- python3 -c 'print(6 * 7)') || return 1
  [ "$out" = 42 ] || { echo "42 was expected: $out"; return 1; }
}

stop_server() {
  local pid
  pid=$(pgrep -f 'agentbox.ts up' | head -n 1)
  [ -n "$pid" ] || { echo "no server runs"; return 1; }
  kill -INT "$pid"
  eventually gone "$pid"
}

gone() { ! kill -0 "$1" 2>/dev/null; }

take_down() {
  bin/agentbox down
}

nothing_left() {
  local left=0
  grep -E " $AGENTBOX_HOME/| /run/agentbox|/abx" /proc/self/mounts && left=1
  ip -brief link | grep -E '^abx' && left=1
  nft list tables | grep abx && left=1
  find /sys/fs/cgroup -maxdepth 2 -type d -name 'abx*' | grep . && left=1
  pgrep -af 'envd|runc ' && left=1
  losetup --list --noheadings | grep . && left=1
  return $left
}
