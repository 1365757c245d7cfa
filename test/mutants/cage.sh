#!/bin/sh
# Runs a command where a planted bug can hurt nothing: in namespaces of its own, with the machine's files read-only, the tree at /mnt, and
# /tmp of its own, on disk: tests of images meet the limits of its file system. Usage: cage.sh TREE NODE_MODULES COMMAND…   (started by unshare, see cage.ts)
set -e
tree=$1 modules=$2
shift 2
mkdir -p "$tree/node_modules"
mount --bind "$tree" /mnt
mount --bind "$modules" /mnt/node_modules
rm -rf "$tree.tmp"
mkdir -m 1777 "$tree.tmp"
# Deepest first does not matter: each mount has its own flag. What cannot be changed here was not writable by us either.
while read -r _ _ _ _ target _; do
  case $target in
  /mnt | /proc | /proc/* | /dev | /dev/*) ;;
  *) mount -o remount,bind,ro "$(printf '%b' "$target")" 2>/dev/null || true ;;
  esac
done </proc/self/mountinfo
mount --bind "$tree.tmp" /tmp
mount -o remount,bind,rw /tmp
mkdir /tmp/home
ip link set lo up
cd /mnt
# The project's Node by its place in the cage: the tree of the caller may be below /tmp, which is hidden here.
PATH=$(echo /mnt/node_modules/node-linux-*/bin):$PATH
# What no test needs: loading modules, raw disks, restarting the machine, the clock.
exec setpriv --bounding-set=-sys_module,-sys_rawio,-sys_boot,-sys_time env HOME=/tmp/home "$@"
