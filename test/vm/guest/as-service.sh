# Fourth boot: the service that was installed before it runs, is backed up and restored, and is removed again.

service_runs() {
  eventually systemctl is-active --quiet agentbox || { systemctl status --no-pager --full agentbox; return 1; }
  eventually server_answers
}

backup_and_restore() {
  local id
  id=$(bin/agentbox run base --metadata left=backup) || return 1
  bin/agentbox backup /root/agentbox.tar || return 1
  systemctl stop agentbox || return 1
  bin/agentbox down || return 1
  bin/agentbox restore --replace /root/agentbox.tar || return 1
  systemctl start agentbox || return 1
  eventually server_answers || return 1
  eventually restored_one_ended || { bin/agentbox ls -a -o wide; return 1; }
}

restored_one_ended() {
  bin/agentbox ls -a --metadata left=backup -o json | json '(d["items"] if isinstance(d, dict) else d)[0]["failureReason"] == "RestoredFromBackup"'
}

uninstall_service() {
  bin/agentbox uninstall --data || return 1
  [ ! -e /etc/systemd/system/agentbox.service ] && [ ! -e "$AGENTBOX_HOME" ] || { echo "the unit or the data is still there"; return 1; }
  bin/agentbox uninstall | grep 'nothing to do'
}

after=poweroff
step service-after-reboot service_runs
step pods-of-service first_pods
step run-in-service run_python
step backup-and-restore backup_and_restore
step pods-after-restore first_pods
step service-removed uninstall_service
step nothing-left-of-service nothing_left
