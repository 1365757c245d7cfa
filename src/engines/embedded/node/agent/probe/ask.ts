/** Carries out one probe or hook: a command inside the container, a request or a connection to the pod's address, or a pause. */
import { type Clock, sleep } from "#lib/clock.ts";
import type { PodRuntime } from "#engines/embedded/node/pod-runtime.ts";
import type { Handler, StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { HTTPGetAction } from "#model/kubernetes.generated.ts";
import type { PodNetwork } from "#engines/embedded/node/agent/ports.ts";

export interface AskDeps {
  readonly runtime: Pick<PodRuntime, "exec">;
  readonly network: PodNetwork;
  readonly clock: Clock;
}

export interface Asked {
  readonly id: string;
  readonly address: string;
  readonly container: StoredContainer;
}

export type Answer = { readonly ok: true } | { readonly ok: false; readonly output: string };

/** Never rejects. With `timeoutMs` no answer in time is a failure. */
export async function ask(
  deps: AskDeps,
  asked: Asked,
  handler: Handler,
  { timeoutMs, signal }: { readonly timeoutMs?: number; readonly signal: AbortSignal },
): Promise<Answer> {
  const stop = new AbortController();
  const timer =
    timeoutMs === undefined
      ? undefined
      : deps.clock.after(timeoutMs, () => stop.abort(new Error(`no answer within ${timeoutMs / 1000} s`)));
  // By hand: what AbortSignal.any costs is much beside a probe, and there is one a second for each container.
  const onAbort = (): void => stop.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  const given = new Promise<never>((_, reject) => {
    stop.signal.addEventListener("abort", () => reject(stop.signal.reason as Error), { once: true });
    if (stop.signal.aborted) reject(stop.signal.reason as Error);
  });
  try {
    // What is asked may not listen to the signal; we do.
    return await Promise.race([answerOf(deps, asked, handler, stop.signal), given]);
  } catch (error) {
    // Ends what still runs of it.
    stop.abort(error);
    return { ok: false, output: error instanceof Error ? error.message : String(error) };
  } finally {
    timer?.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

async function answerOf(deps: AskDeps, asked: Asked, handler: Handler, signal: AbortSignal): Promise<Answer> {
  const { exec, httpGet, tcpSocket, sleep: pause } = handler;
  if (exec !== undefined) return runInside(deps, asked.id, exec.command ?? [], signal);
  if (httpGet !== undefined) return get(deps, asked, httpGet, signal);
  if (tcpSocket !== undefined) {
    await deps.network.connect(asked.address, portOf(asked.container, tcpSocket.port), signal);
    return { ok: true };
  }
  if (pause !== undefined) await sleep(deps.clock, pause.seconds * 1000, signal);
  return { ok: true };
}

async function runInside({ runtime }: AskDeps, id: string, argv: readonly string[], signal: AbortSignal): Promise<Answer> {
  const session = runtime.exec(id, { argv, signal });
  session.stdin.end();
  const [code, ...outputs] = await Promise.all([session.exitCode, readOutput(session.stdout), readOutput(session.stderr)]);
  if (code === 0) return { ok: true };
  const output = outputs.join("").trim();
  return { ok: false, output: output === "" ? `command ${JSON.stringify(argv)} ended with ${code}` : output };
}

async function get({ network }: AskDeps, { address, container }: Asked, action: HTTPGetAction, signal: AbortSignal): Promise<Answer> {
  const status = await network.httpGet(
    {
      scheme: action.scheme === "HTTPS" ? "https" : "http",
      address,
      port: portOf(container, action.port),
      path: action.path ?? "/",
      headers: (action.httpHeaders ?? []).map(({ name, value }) => [name, value]),
    },
    signal,
  );
  return status >= 200 && status < 400 ? { ok: true } : { ok: false, output: `HTTP probe failed with statuscode: ${status}` };
}

/** A port by its number or by its name among the container's ports. */
function portOf({ name, ports = [] }: StoredContainer, port: number | string): number {
  if (typeof port === "number" || /^\d+$/.test(port)) return Number(port);
  const found = ports.find((one) => one.name === port)?.containerPort;
  if (found === undefined) throw new Error(`the container ${name} has no port named "${port}"`);
  return found;
}

/** The first `maxBytes` of a stream. The rest is read and dropped, because an unread stream would block the process that writes it. */
function readOutput(stream: NodeJS.ReadableStream, maxBytes = 1_024): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const done = (): void => resolve(Buffer.concat(chunks).subarray(0, maxBytes).toString());
    stream.on("data", (chunk: Buffer | string) => {
      if (bytes < maxBytes) chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
    });
    stream.on("end", done);
    stream.on("close", done);
    stream.on("error", done);
  });
}
