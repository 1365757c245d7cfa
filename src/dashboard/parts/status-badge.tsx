/** State of a sandbox or pool as a word and a colour. */
const tones: Readonly<Record<string, string>> = {
  Running: "good",
  Ready: "good",
  Succeeded: "good",
  Completed: "calm",
  Starting: "calm",
  ScalingUp: "calm",
  Pending: "calm",
  Stopping: "warn",
  ScalingDown: "warn",
  Paused: "warn",
  Degraded: "bad",
  Failed: "bad",
  Terminating: "warn",
};

export function StatusBadge({ status }: { readonly status: string }) {
  return <span class={`status ${tones[status] ?? (/fail|error|oom|lost/i.test(status) ? "bad" : "")}`}>{status}</span>;
}
