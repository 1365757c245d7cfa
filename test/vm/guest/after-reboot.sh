# Third boot: an orderly reboot with a sandbox in place. Then `down`, settings that harden user namespaces, and AgentBox as a service for the next boot.

reboot_is_recorded() {
  eventually rebooted_one_ended || { bin/agentbox ls -a -o wide; return 1; }
  bin/agentbox ls -a -o wide
}

rebooted_one_ended() {
  bin/agentbox ls -a --metadata left=reboot -o json | json 'len(d["items"] if isinstance(d, dict) else d) == 1 and (d["items"] if isinstance(d, dict) else d)[0]["status"] not in ("Running", "Starting", "Stopping")'
}

under_setting() { # sysctl=value
  sysctl -w "$1" && start_server && first_pods && run_python && take_down
}

setting() { # name, sysctl, value
  if [ -e "/proc/sys/${2//./\/}" ]; then step "$1" under_setting "$2=$3"; else skip "$1" "this kernel has no $2"; fi
}

install_service() {
  bin/agentbox install --dry-run | grep ExecStart || return 1
  make install || return 1
  eventually server_answers || { systemctl status --no-pager --full agentbox; return 1; }
  # Done again it changes nothing.
  bin/agentbox install | grep -vE '^(kept|run systemctl start|Its log)' && { echo "the second install changed something"; return 1; }
  first_pods && run_python
}

# Sandboxes outlive their server, also where systemd ends it.
service_restart_keeps_sandboxes() {
  local id
  id=$(bin/agentbox run base) || return 1
  systemctl restart agentbox || return 1
  eventually server_answers || return 1
  [ "$(bin/agentbox exec "$id" -- echo kept)" = kept ] || return 1
  bin/agentbox rm "$id"
}

after=reboot
step up-after-reboot start_server
step pods-after-reboot first_pods
step reboot-is-recorded reboot_is_recorded
step run-after-reboot run_python
step down take_down
step nothing-left nothing_left
# Ubuntu sets the first by default; the second is an old setting of Debian's own.
setting apparmor-restricts-user-namespaces kernel.apparmor_restrict_unprivileged_userns 1
setting no-unprivileged-user-namespaces kernel.unprivileged_userns_clone 0
step nothing-left-again nothing_left
step service-installed install_service
step service-restart service_restart_keeps_sandboxes
