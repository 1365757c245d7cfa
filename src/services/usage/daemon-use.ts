/** What sandboxes use, as their daemons report it: on a cluster the nodes cannot be asked. */
import type { PodHttp } from "#daemon-client/pod-http.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { daemonAddress } from "#life/arm/ask-daemon.ts";
import type { SandboxTokens } from "#services/creating/sandbox-tokens.ts";
import type { PodUse, ReadPodUse } from "./pod-use.ts";

export interface DaemonUseDeps {
  readonly http: Pick<PodHttp, "send">;
  readonly tokens: Pick<SandboxTokens, "accessTokenOf">;
}

/** How long to wait for a daemon: the next look comes soon anyway. */
const timeoutMs = 2000;
const fields = ["cpu_used_ms", "cpu_count", "mem_total", "mem_used", "mem_cache", "disk_used", "disk_total"] as const;

export function daemonUse({ http, tokens }: DaemonUseDeps): ReadPodUse {
  return async (pod: Pod) => {
    const headers = { "x-access-token": tokens.accessTokenOf(sandboxIdOf(pod) ?? "") };
    const answer = await http.send(daemonAddress(pod), { method: "GET", path: "/metrics", headers, timeoutMs });
    if (answer.status !== 200) throw new Error(`the daemon answered ${answer.status}`);
    return useIn(answer.text);
  };
}

/** A root user of the sandbox can make its daemon report anything, so everything but numbers is dropped. */
function useIn(text: string): PodUse {
  const said = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
  const [cpuMs, cpus, memoryTotal, memoryBytes, cacheBytes, diskBytes, diskTotal] = fields.map((field) => {
    const value = said?.[field];
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0) throw new Error(`the daemon gave no ${field}`);
    return value;
  }) as [number, number, number, number, number, number, number];
  return {
    cpuMs,
    memoryBytes,
    cacheBytes,
    diskBytes,
    machine: { cpus: Math.max(1, cpus), memoryBytes: memoryTotal, diskBytes: diskTotal },
  };
}
