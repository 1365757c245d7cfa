/** Processes of a sandbox, read from /proc by a shell, because images may lack ps. Pure; the caller runs the command. */
export interface ProcessRow {
  readonly pid: number;
  readonly user: string;
  readonly memoryBytes: number;
  readonly state: string;
  readonly command: string;
}

/** One line for each process: pid, state, memory in KiB, user id, and the command. */
export const processCommand = [
  "sh",
  "-c",
  'for d in /proc/[0-9]*; do p=${d#/proc/}; [ "$p" = "$$" ] && continue; ' +
    'c=$(tr "\\0\\n" "  " < $d/cmdline 2>/dev/null) || continue; ' +
    "while read -r k v _; do case $k in State:) s=$v;; VmRSS:) m=$v;; Uid:) u=$v;; Name:) n=$v;; esac; done < $d/status 2>/dev/null; " +
    'printf "%s\\t%s\\t%s\\t%s\\t%s\\n" "$p" "$s" "${m:-0}" "$u" "${c:-[$n]}"; m=; done',
] as const;

export function parseProcesses(text: string): readonly ProcessRow[] {
  return text
    .split("\n")
    .map((line) => line.split("\t"))
    .filter((parts) => parts.length >= 5)
    .map(([pid = "", state = "", memory = "", user = "", ...command]) => ({
      pid: Number(pid),
      state,
      user,
      memoryBytes: Number(memory) * 1024,
      command: command.join(" ").trim(),
    }))
    .sort((a, b) => a.pid - b.pid);
}
