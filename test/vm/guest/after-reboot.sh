# Third boot: an orderly reboot with a sandbox in place. Then `down`, and settings that harden user namespaces.

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

after=poweroff
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
