/**
 * What the runtimes of a template mean for the container that is the sandbox: its ports, its readiness, and what the daemon in it
 * must know. The daemon (runtime `e2b`) is in every sandbox, whether the template names it or not.
 */
import type { Container, ContainerPort, EnvVar, Pod, Probe } from "#model/pod.ts";
import type { SandboxRuntime } from "#model/sandbox-runtime.ts";
import { daemonRuntime, defaultDaemonPort, moduleOf } from "#sandbox/runtimes/known-runtimes.ts";
import { runtimeVariables } from "#sandbox/runtimes/runtime-module.ts";

const daemonVariables = {
  ...runtimeVariables,
  podUid: "AGENTBOX_POD_UID",
  publicKey: "AGENTBOX_PUBLIC_KEY",
  imageEntrypoint: "AGENTBOX_IMAGE_ENTRYPOINT",
} as const;

/** What the daemon must know beside the runtimes. */
export interface DaemonFacts {
  /** The control plane's public key in base64, which the daemon checks orders with. */
  readonly publicKey: string;
  /** Whether it runs what the image would have run. */
  readonly runsImage?: boolean;
  /** Whether the node is to ask it for its health; true when left out. */
  readonly isProbed?: boolean;
}

/** The container with all of it. */
export function withRuntimes(container: Container, given: readonly SandboxRuntime[] | undefined, facts: DaemonFacts): Container {
  const runtimes = withDaemon(given ?? []);
  const readinessProbe = container.readinessProbe ?? firstProbe(runtimes) ?? (facts.isProbed === false ? undefined : healthProbe(runtimes));
  return {
    ...container,
    ports: withPorts(container.ports ?? [], runtimes),
    env: withDaemonVariables(container.env ?? [], runtimes, facts),
    ...(readinessProbe === undefined ? {} : { readinessProbe }),
  };
}

/** Where the daemon of this pod listens. */
export function daemonPortOf(pod: Pod): number {
  return portIn(pod, daemonVariables.daemonPort) ?? defaultDaemonPort;
}

/** Where the daemon of this pod serves the interpreter; undefined: it does not. */
export function interpreterPortOf(pod: Pod): number | undefined {
  return portIn(pod, daemonVariables.interpreterPort);
}

/** Where the daemon of this pod serves SWE-ReX; undefined: it does not, or the image's own server does. */
export function swerexPortOf(pod: Pod): number | undefined {
  return variableOf(pod, daemonVariables.swerexMode) === undefined ? portIn(pod, daemonVariables.swerexPort) : undefined;
}

function portIn(pod: Pod, variable: string): number | undefined {
  const value = variableOf(pod, variable);
  return value === undefined ? undefined : Number(value);
}

function variableOf(pod: Pod, variable: string): string | undefined {
  return pod.spec.containers[0]?.env?.find(({ name }) => name === variable)?.value;
}

/** Whether the daemon of this pod waits to be told what the image runs: a pod may be older than what its template says now. */
export function runsImageCommand(pod: Pod): boolean {
  return pod.spec.containers[0]?.env?.some(({ name }) => name === daemonVariables.imageEntrypoint) === true;
}

function withDaemon(runtimes: readonly SandboxRuntime[]): readonly SandboxRuntime[] {
  return runtimes.some(({ name }) => name === daemonRuntime) ? runtimes : [...runtimes, { name: daemonRuntime }];
}

function portOfDaemon(runtimes: readonly SandboxRuntime[]): number {
  return runtimes.find(({ name }) => name === daemonRuntime)?.port ?? defaultDaemonPort;
}

function withPorts(given: readonly ContainerPort[], runtimes: readonly SandboxRuntime[]): readonly ContainerPort[] {
  const ports = [...given];
  for (const runtime of runtimes) {
    const port = portOf(runtime);
    if (port === undefined || ports.some((known) => isSamePort(known, port))) continue;
    const isNameFree = isPortName(runtime.name) && ports.every(({ name }) => name !== runtime.name);
    ports.push(isNameFree ? { name: runtime.name, ...port } : port);
  }
  return ports;
}

function portOf(runtime: SandboxRuntime): ContainerPort | undefined {
  const { port, protocol = "TCP" } = runtime;
  const containerPort = port ?? moduleOf(runtime).usualPort;
  return containerPort === undefined ? undefined : { containerPort, protocol };
}

function isSamePort(left: ContainerPort, right: ContainerPort): boolean {
  return left.containerPort === right.containerPort && (left.protocol ?? "TCP") === right.protocol;
}

/** Names of ports are shorter than names of runtimes may be; a port is as good without one. */
function isPortName(name: string): boolean {
  return name.length <= 15 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && /[a-z]/.test(name);
}

/** Our variables come first and cannot be replaced: a template's author must not decide which key can arm its sandboxes. */
function withDaemonVariables(
  env: readonly EnvVar[],
  runtimes: readonly SandboxRuntime[],
  { publicKey, runsImage = false }: DaemonFacts,
): readonly EnvVar[] {
  const ours: readonly EnvVar[] = [
    { name: daemonVariables.podUid, valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
    { name: daemonVariables.publicKey, value: publicKey },
    ...runtimes.flatMap((runtime) => moduleOf(runtime).variables(runtime, portOf(runtime)?.containerPort)),
    ...(runsImage ? [{ name: daemonVariables.imageEntrypoint, value: "true" }] : []),
  ];
  const names: ReadonlySet<string> = new Set([...Object.values(daemonVariables), ...ours.map(({ name }) => name)]);
  return [...ours, ...env.filter(({ name }) => !names.has(name))];
}

/** Of the runtimes that the daemon serves: it is one program, and one probe finds out whether it is ready. Creates ask the others (`ready-checks.ts`). */
function firstProbe(runtimes: readonly SandboxRuntime[]): Probe | undefined {
  // Checked by the kind's schema, and passed through: the pod's type names only the parts of a probe that we read ourselves.
  return probedAndServed(runtimes)[0]?.readinessProbe as Probe | undefined;
}

function probedAndServed(runtimes: readonly SandboxRuntime[]): readonly SandboxRuntime[] {
  return runtimes.filter((runtime) => runtime.readinessProbe !== undefined && moduleOf(runtime).isServed(runtime));
}

/** A pod that counts as ready before its daemon answers may be claimed, and its create waits until it does. */
function healthProbe(runtimes: readonly SandboxRuntime[]): Probe {
  return { httpGet: { path: "/health", port: portOfDaemon(runtimes) }, periodSeconds: 1, failureThreshold: 3 };
}

/** Runtimes whose readiness probe nothing asks, because another one speaks for the container. */
export function unaskedProbes(container: Pick<Container, "readinessProbe">, runtimes: readonly SandboxRuntime[] = []): readonly string[] {
  const probed = probedAndServed(runtimes).map(({ name }) => name);
  return container.readinessProbe === undefined ? probed.slice(1) : probed;
}
