import type { Causes } from "../causes.ts";
import { httpHeaderMistakes, portNameMistakes, portNumberMistakes } from "#model/names.ts";
import type { Handler, StoredContainer, StoredProbe } from "#engines/embedded/stored-pod.ts";

const probeHandlers = ["exec", "httpGet", "tcpSocket", "grpc"] as const;
const lifecycleHandlers = ["exec", "httpGet", "tcpSocket", "sleep"] as const;
type HandlerName = (typeof probeHandlers | typeof lifecycleHandlers)[number];

export function validateProbes(container: StoredContainer, path: string, causes: Causes): void {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  if (livenessProbe !== undefined) {
    validateProbe(livenessProbe, `${path}.livenessProbe`, causes);
    validateSingleSuccess(livenessProbe, `${path}.livenessProbe`, causes);
  }
  if (readinessProbe !== undefined) {
    validateProbe(readinessProbe, `${path}.readinessProbe`, causes);
    if (readinessProbe.terminationGracePeriodSeconds !== undefined) {
      const field = `${path}.readinessProbe.terminationGracePeriodSeconds`;
      causes.invalid(field, readinessProbe.terminationGracePeriodSeconds, "must not be set for readinessProbes");
    }
  }
  if (startupProbe !== undefined) {
    validateProbe(startupProbe, `${path}.startupProbe`, causes);
    validateSingleSuccess(startupProbe, `${path}.startupProbe`, causes);
  }
}

function validateProbe(probe: StoredProbe, path: string, causes: Causes): void {
  validateHandler(probe, probeHandlers, path, causes);
  for (const field of ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] as const) {
    const value = probe[field] ?? 0;
    if (value < 0) causes.invalid(`${path}.${field}`, value, "must be greater than or equal to 0");
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) causes.invalid(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than 0");
}

/** Liveness and startup probes succeed with one success; the server takes no other number. */
function validateSingleSuccess(probe: StoredProbe, path: string, causes: Causes): void {
  if (probe.successThreshold !== 1) causes.invalid(`${path}.successThreshold`, probe.successThreshold, "must be 1");
}

export function validateLifecycle({ lifecycle }: StoredContainer, path: string, graceSeconds: number, causes: Causes): void {
  if (lifecycle?.postStart !== undefined) validateHook(lifecycle.postStart, `${path}.lifecycle.postStart`, graceSeconds, causes);
  if (lifecycle?.preStop !== undefined) validateHook(lifecycle.preStop, `${path}.lifecycle.preStop`, graceSeconds, causes);
}

function validateHook(hook: Handler, path: string, graceSeconds: number, causes: Causes): void {
  const isOnly = validateHandler(hook, lifecycleHandlers, path, causes) === "sleep";
  const seconds = hook.sleep?.seconds;
  if (!isOnly || seconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return;
  causes.invalid(`${path}.sleep`, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`);
}

/** Checks that there is exactly one handler, and that it is valid. Returns its name. */
function validateHandler(handler: Handler, names: readonly HandlerName[], path: string, causes: Causes): HandlerName | undefined {
  const [chosen, ...others] = names.filter((name) => handler[name] !== undefined);
  if (chosen === undefined) {
    causes.required(path, "must specify a handler type");
    return undefined;
  }
  validateAction(handler, chosen, `${path}.${chosen}`, causes);
  for (const other of others) causes.forbidden(`${path}.${other}`, "may not specify more than 1 handler type");
  return chosen;
}

function validateAction({ exec, httpGet, tcpSocket, grpc }: Handler, chosen: HandlerName, path: string, causes: Causes): void {
  if (chosen === "exec" && (exec?.command ?? []).length === 0) causes.required(`${path}.command`);
  if (chosen === "tcpSocket" && tcpSocket !== undefined) validatePort(tcpSocket.port, `${path}.port`, causes);
  if (chosen === "grpc" && grpc !== undefined) validatePort(grpc.port, `${path}.port`, causes);
  if (chosen === "httpGet" && httpGet !== undefined) validateHttpGet(httpGet, path, causes);
}

function validateHttpGet(request: NonNullable<Handler["httpGet"]>, path: string, causes: Causes): void {
  const { port, scheme, httpHeaders = [] } = request;
  validatePort(port, `${path}.port`, causes);
  if (scheme !== "HTTP" && scheme !== "HTTPS") causes.notSupported(`${path}.scheme`, scheme, ["HTTP", "HTTPS"]);
  for (const { name } of httpHeaders) causes.invalidEach(`${path}.httpHeaders`, name, httpHeaderMistakes(name));
}

function validatePort(port: number | string, path: string, causes: Causes): void {
  const mistakes = typeof port === "number" ? portNumberMistakes(port) : portNameMistakes(port);
  for (const mistake of mistakes) causes.invalid(path, port, mistake);
}
