/** The scripts of the other steps, which run in the build's sandbox; all but those of users run as root. Pure. */

/** Printed by a script that has changed a file: its step is worth a layer. */
export const changedMark = "agentbox-changed";

/**
 * The first phase. Arguments: none. Makes the user that steps run as, which becomes root without a password where the image has sudo. Says what the image
 * lacks for being built on.
 */
const baseScript = `set -eu
command -v bash >/dev/null || { echo "the image has no bash, which build steps run in" >&2; exit 69; }
if ! id user >/dev/null 2>&1; then
  echo ${changedMark}
  if command -v useradd >/dev/null; then useradd -m -s /bin/bash user
  else adduser -D -s /bin/bash user; fi
fi
if [ ! -d /home/user ]; then
  echo ${changedMark}
  mkdir -p /home/user
  chown user: /home/user
fi
if command -v sudo >/dev/null && [ -d /etc/sudoers.d ] && [ ! -e /etc/sudoers.d/agentbox-user ]; then
  echo ${changedMark}
  echo "user ALL=(ALL:ALL) NOPASSWD:ALL" > /etc/sudoers.d/agentbox-user
  chmod 0440 /etc/sudoers.d/agentbox-user
fi`;

export const baseCommand: readonly string[] = ["/bin/sh", "-c", baseScript];

const userScript = `set -eu
if ! id "$1" >/dev/null 2>&1; then
  echo ${changedMark}
  if command -v useradd >/dev/null; then useradd -m -s /bin/bash "$1"
  else adduser -D -s /bin/bash "$1"; fi
fi`;

export function userCommand(name: string): readonly string[] {
  return ["/bin/sh", "-c", userScript, "user", name];
}

const workdirScript = `set -eu
folder() {
  [ -d "$1" ] && return
  folder "$(dirname "$1")"
  mkdir "$1"
  chown "$2" "$1"
  echo ${changedMark}
}
folder "$1" "$2:"`;

export function workdirCommand(path: string, user: string): readonly string[] {
  return ["/bin/sh", "-c", workdirScript, "workdir", path, user];
}

export function homeCommand(user: string): readonly string[] {
  return ["/bin/sh", "-c", 'getent passwd "$1" 2>/dev/null | cut -d: -f6 || grep "^$1:" /etc/passwd | cut -d: -f6', "home", user];
}

export function runCommand(command: string): readonly string[] {
  return ["/bin/bash", "-l", "-c", command];
}

/** Prints the variables of a login shell, with a zero byte after each. */
export const variablesCommand: readonly string[] = ["/bin/bash", "-l", "-c", "env -0"];

/** NAME=value, each with a zero byte after it. */
export function variablesIn(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\0").filter((line) => line.includes("="));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}
