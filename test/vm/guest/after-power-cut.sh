# Second boot: the power went while sandboxes ran.

ends_are_recorded() {
  eventually both_ended || { bin/agentbox ls -a -o wide; return 1; }
  bin/agentbox ls -a -o wide
}

both_ended() {
  local left
  for left in running paused; do
    bin/agentbox ls -a --metadata left=$left -o json | json 'len(d["items"] if isinstance(d, dict) else d) == 1 and (d["items"] if isinstance(d, dict) else d)[0]["status"] in ("Failed", "Released", "Completed", "Canceled")' || return 1
  done
}

leave_one() {
  bin/agentbox run base --metadata left=reboot
}

after=reboot
step up-after-power-cut start_server
step pods-after-power-cut first_pods
step ends-are-recorded ends_are_recorded
step run-after-power-cut run_python
step sandbox-left leave_one
