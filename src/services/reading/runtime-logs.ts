/**
 * The log that a runtime of the sandbox keeps in a file (`logDir` of the template's runtime): read in the sandbox, by its own `tail`. The file is as old as the container, which
 * was new when the sandbox was claimed, so all of it is the sandbox's own.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { ExecSession } from "#kube/pod-access.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRuntime } from "#model/sandbox-runtime.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import type { Caller } from "#services/caller.ts";
import { type ExecDeps, execInSandbox } from "#services/inside/exec-in-sandbox.ts";
import { livePod } from "./find-sandbox.ts";
import type { LogRequest } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

export interface RuntimeLogDeps extends ExecDeps {
  readonly cache: ExecDeps["cache"] & Pick<SandboxCache, "pools" | "templates">;
}

const usualTail = 1000;
const nothingYet = Buffer.alloc(0);
/** Of what `tail` complains about. */
const longestComplaint = 1024;
/** Reading a log is no use of the sandbox. */
const noActivity: ExecDeps["activity"] = { begin: () => () => {} };

/** An empty piece comes first, once it is known that there is such a sandbox and runtime (W13). */
export async function* runtimeLogs(
  deps: RuntimeLogDeps,
  caller: Caller,
  sandboxId: string,
  request: LogRequest & { readonly source: string },
): AsyncGenerator<Buffer, void> {
  refuseOthers(request);
  const { source, tail = usualTail, follow, signal = follow } = request;
  const file = logFileOf(deps, await livePod(deps, caller, sandboxId, "reading its log"), source);
  const argv = ["tail", "-n", String(tail), ...(follow === undefined ? [] : ["-F"]), file];
  const session = await execInSandbox({ ...deps, activity: noActivity }, caller, sandboxId, { argv, ...withoutUndefined({ signal }) });
  session.stdin.end();
  yield nothingYet;
  const complaint = collected(session);
  // An exec that is given up may not end its streams by itself.
  const stop = (): void => void session.stdout.destroy();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    for await (const piece of session.stdout) yield Buffer.from(piece);
    const [exitCode, said] = [await session.exitCode, await complaint];
    if (exitCode === 0 || follow !== undefined) return;
    throw new ServiceError("conflict", `the log of runtime ${JSON.stringify(source)} cannot be read: ${said}`);
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

function refuseOthers({ container, sinceMs }: LogRequest): void {
  const field = container === undefined ? "since" : "container";
  if (container === undefined && sinceMs === undefined) return;
  throw new ServiceError("invalid_request", `${field} applies only to a container's own log: remove it for the log of a runtime`, {
    field,
  });
}

function logFileOf(deps: RuntimeLogDeps, pod: Pod, source: string): string {
  const runtimes = runtimesOf(deps, pod).filter(({ logDir = "" }) => logDir !== "");
  const file = runtimes.find(({ name }) => name === source)?.logDir;
  if (file !== undefined) return file;
  const available = ["stdout", ...runtimes.map(({ name }) => name)];
  const message = `the sandbox has no runtime ${JSON.stringify(source)} with a log; it has ${available.join(", ")}`;
  throw new ServiceError("invalid_request", message, { field: "source", available });
}

/** None where the pool or its template is gone. */
function runtimesOf({ cache }: RuntimeLogDeps, pod: Pod): readonly SandboxRuntime[] {
  const pool = cache.pools.objects.get({ namespace: pod.metadata.namespace, name: poolOf(pod) ?? "" });
  if (pool === undefined) return [];
  const { templateName } = pool.spec;
  const resolved = resolveTemplate(pool, templateName === undefined ? undefined : cache.templates.objects.get({ name: templateName }));
  return resolved.kind === "template" ? (resolved.template.runtimes ?? []) : [];
}

async function collected({ stderr }: ExecSession): Promise<string> {
  let kept = Buffer.alloc(0);
  try {
    for await (const chunk of stderr) kept = Buffer.concat([kept, Buffer.from(chunk)]).subarray(0, longestComplaint);
  } catch {
    // What broke the session is told by its output.
  }
  return kept.toString("utf8").trim();
}
