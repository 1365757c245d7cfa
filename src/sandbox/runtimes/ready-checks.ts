/**
 * What a create asks of the runtimes that the image brings, before it is answered: their readiness probes. Nodes are not told of them: an image's programs
 * start with the sandbox (ADR 46), so a pod that waited for them would never be idle. Pods carry the checks, because one may be older than what its template says now.
 */
import { Type } from "typebox";
import { Value } from "typebox/value";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRuntime } from "#model/sandbox-runtime.ts";
import { moduleOf } from "./known-runtimes.ts";

export interface ReadyCheck {
  readonly runtime: string;
  readonly way: CheckWay;
  readonly delayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  /** Successes in a row that count. */
  readonly successes: number;
  /** How long it may fail, from the first try on; as long as the create may take when left out. */
  readonly patienceMs?: number;
}

export type CheckWay =
  | { readonly kind: "http"; readonly port: number; readonly path: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "exec"; readonly command: readonly string[] };

const waySchema = Type.Union([
  Type.Object({
    kind: Type.Literal("http"),
    port: Type.Integer(),
    path: Type.String(),
    headers: Type.Record(Type.String(), Type.String()),
  }),
  Type.Object({ kind: Type.Literal("tcp"), port: Type.Integer() }),
  Type.Object({ kind: Type.Literal("exec"), command: Type.Array(Type.String()) }),
]);
const checksSchema = Type.Array(
  Type.Object({
    runtime: Type.String(),
    way: waySchema,
    delayMs: Type.Number(),
    periodMs: Type.Number(),
    timeoutMs: Type.Number(),
    successes: Type.Number(),
    patienceMs: Type.Optional(Type.Number()),
  }),
);

/** Seconds between two tries when the probe does not say. A kubelet's ten would be the shortest create. */
const usualPeriod = 1;

/** What the pods of a template carry; undefined: no check. The runtimes have been validated. */
export function writtenChecks(runtimes: readonly SandboxRuntime[] = []): string | undefined {
  const checks = runtimes.flatMap((runtime) => checkOf(runtime, runtimes) ?? []);
  return checks.length === 0 ? undefined : JSON.stringify(checks);
}

export function readyChecksOf(pod: Pod): readonly ReadyCheck[] {
  const text = pod.metadata.annotations?.[annotationKeys.runtimeChecks];
  if (text === undefined) return [];
  return Value.Parse(checksSchema, JSON.parse(text));
}

function checkOf(runtime: SandboxRuntime, all: readonly SandboxRuntime[]): ReadyCheck | undefined {
  const probe = runtime.readinessProbe;
  const way = probe === undefined || moduleOf(runtime).isServed(runtime) ? undefined : wayOf(runtime, all);
  if (probe === undefined || way === undefined || typeof way === "string") return undefined;
  const { initialDelaySeconds = 0, timeoutSeconds = 1, successThreshold = 1, failureThreshold } = probe;
  const periodMs = 1000 * Math.max(1, probe.periodSeconds ?? usualPeriod);
  return {
    runtime: runtime.name,
    way,
    delayMs: 1000 * initialDelaySeconds,
    periodMs,
    timeoutMs: 1000 * Math.max(1, timeoutSeconds),
    successes: Math.max(1, successThreshold),
    ...(failureThreshold !== undefined && { patienceMs: periodMs * failureThreshold }),
  };
}

/** What is wrong with the probe of a runtime that the image brings; undefined: nothing. */
export function probeProblem(runtime: SandboxRuntime, all: readonly SandboxRuntime[]): string | undefined {
  if (runtime.readinessProbe === undefined || moduleOf(runtime).isServed(runtime)) return undefined;
  const way = wayOf(runtime, all);
  return typeof way === "string" ? way : undefined;
}

/** A text says what is wrong. */
function wayOf({ readinessProbe: probe = {} }: SandboxRuntime, all: readonly SandboxRuntime[]): CheckWay | string {
  const { exec, httpGet, tcpSocket } = probe;
  if (exec !== undefined) {
    const { command = [] } = exec;
    return command.length === 0 ? "exec needs a command" : { kind: "exec", command };
  }
  const place = httpGet ?? tcpSocket;
  if (place === undefined) return "grpc cannot be asked by a create: use httpGet, tcpSocket or exec";
  if (place.host !== undefined && place.host !== "") return "host must be left out: the sandbox itself is asked";
  const port = portOf(place.port, all);
  if (port === undefined) return `port ${JSON.stringify(place.port)} is neither a number nor the name of a runtime that has a port`;
  return httpGet === undefined ? { kind: "tcp", port } : httpWay(httpGet, port);
}

type HttpGet = NonNullable<NonNullable<SandboxRuntime["readinessProbe"]>["httpGet"]>;

function httpWay({ scheme = "HTTP", path = "/", httpHeaders = [] }: HttpGet, port: number): CheckWay | string {
  if (scheme.toUpperCase() !== "HTTP") return `scheme must be HTTP, not ${JSON.stringify(scheme)}`;
  return { kind: "http", port, path, headers: Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value])) };
}

function portOf(port: number | string, all: readonly SandboxRuntime[]): number | undefined {
  if (typeof port === "number") return port;
  if (/^\d{1,5}$/.test(port)) return Number(port);
  return all.find(({ name }) => name === port)?.port;
}
