/** Checks containers; `environment-validation.ts`, `handler-validation.ts`, `resource-validation.ts` and `security-validation.ts` check their larger parts. */
import type { Causes } from "../causes.ts";
import { dnsLabelMistakes, portNameMistakes, portNumberMistakes } from "#model/names.ts";
import { validateEnvironment } from "./environment-validation.ts";
import { validateLifecycle, validateProbes } from "./handler-validation.ts";
import type { StoredContainer, StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { ContainerPort, VolumeMount } from "#model/kubernetes.generated.ts";
import { validateResources } from "./resource-validation.ts";
import { validateContainerSecurity } from "./security-validation.ts";

/** What is shared between the checks of a pod's containers. */
export interface PodScope {
  readonly spec: StoredPodSpec;
  /** Volumes that can be mounted. */
  readonly volumes: ReadonlySet<string>;
  readonly containerNames: Set<string>;
}

export const pullPolicies = ["Always", "IfNotPresent", "Never"];

export function validateContainers(scope: PodScope, causes: Causes): void {
  // A client may leave the containers out, whatever the type says: it is this rule that refuses such a pod.
  const given: Partial<StoredPodSpec> = scope.spec;
  const { containers = [], initContainers = [] } = given;
  if (containers.length === 0) causes.required("spec.containers");
  for (const [index, container] of containers.entries()) {
    validateContainer(scope, container, `spec.containers[${index}]`, causes);
    validateHandlers(scope, container, `spec.containers[${index}]`, causes);
  }
  validateHostPorts(containers, causes);
  for (const [index, container] of initContainers.entries()) {
    const path = `spec.initContainers[${index}]`;
    validateContainer(scope, container, path, causes);
    if (container.restartPolicy === "Always") validateHandlers(scope, container, path, causes);
    else validateRunsOnce(container, path, causes);
  }
}

function validateContainer(scope: PodScope, container: StoredContainer, path: string, causes: Causes): void {
  validateName(scope, container.name, path, causes);
  validateImage(container.image ?? "", `${path}.image`, causes);
  validatePorts(scope, container.ports ?? [], `${path}.ports`, causes);
  validateEnvironment(container, path, causes);
  validateMounts(scope, container.volumeMounts ?? [], `${path}.volumeMounts`, causes);
  validatePolicies(container, path, causes);
  validateResources(container.resources, path, scope.spec, causes);
  validateContainerSecurity(container.securityContext, `${path}.securityContext`, causes);
}

function validateHandlers(scope: PodScope, container: StoredContainer, path: string, causes: Causes): void {
  validateLifecycle(container, path, scope.spec.terminationGracePeriodSeconds, causes);
  validateProbes(container, path, causes);
}

function validateName(scope: PodScope, name: string, path: string, causes: Causes): void {
  const mistakes = dnsLabelMistakes(name);
  if (name === "") causes.required(`${path}.name`);
  else if (mistakes.length > 0) causes.invalidEach(`${path}.name`, name, mistakes);
  else if (scope.containerNames.has(name)) causes.duplicate(`${path}.name`, name);
  else scope.containerNames.add(name);
}

export function validateImage(image: string, path: string, causes: Causes): void {
  if (image === "") causes.required(path);
  else if (image.trim() !== image) causes.invalid(path, image, "must not have leading or trailing whitespace");
}

function validatePorts(scope: PodScope, ports: readonly ContainerPort[], path: string, causes: Causes): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    if (port.name !== undefined) validatePortName(port.name, names, `${at}.name`, causes);
    if (port.containerPort === 0) causes.required(`${at}.containerPort`);
    else for (const mistake of portNumberMistakes(port.containerPort)) causes.invalid(`${at}.containerPort`, port.containerPort, mistake);
    validateHostPort(scope, port, `${at}.hostPort`, causes);
    const { protocol = "TCP" } = port;
    if (!["TCP", "UDP", "SCTP"].includes(protocol)) causes.notSupported(`${at}.protocol`, protocol, ["SCTP", "TCP", "UDP"]);
  }
}

function validatePortName(name: string, names: Set<string>, path: string, causes: Causes): void {
  const mistakes = portNameMistakes(name);
  if (mistakes.length > 0) causes.invalidEach(path, name, mistakes);
  else if (names.has(name)) causes.duplicate(path, name);
  else names.add(name);
}

function validateHostPort(scope: PodScope, { hostPort, containerPort }: ContainerPort, path: string, causes: Causes): void {
  if (hostPort === undefined) return;
  for (const mistake of portNumberMistakes(hostPort)) causes.invalid(path, hostPort, mistake);
  if (scope.spec.hostNetwork === true && hostPort !== containerPort) {
    causes.invalid(path, hostPort, "must match `containerPort` when `hostNetwork` is true");
  }
}

/** Two containers cannot have the same port of their node. */
function validateHostPorts(containers: readonly StoredContainer[], causes: Causes): void {
  const taken = new Set<string>();
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [portIndex, { protocol, hostIP = "", hostPort }] of ports.entries()) {
      if (hostPort === undefined) continue;
      const address = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(address)) causes.duplicate(`spec.containers[${index}].ports[${portIndex}].hostPort`, address);
      else taken.add(address);
    }
  }
}

const propagations = ["Bidirectional", "HostToContainer", "None"];

function validateMounts(scope: PodScope, mounts: readonly VolumeMount[], path: string, causes: Causes): void {
  const paths = new Set<string>();
  for (const [index, mount] of mounts.entries()) {
    const at = `${path}[${index}]`;
    if (mount.name === "") causes.required(`${at}.name`);
    if (mount.mountPath === "") causes.required(`${at}.mountPath`);
    if (!scope.volumes.has(mount.name)) causes.notFound(`${at}.name`, mount.name);
    if (paths.has(mount.mountPath)) causes.invalid(`${at}.mountPath`, mount.mountPath, "must be unique");
    paths.add(mount.mountPath);
    // The server leaves the index out of these two.
    validateRelativePath(mount.subPath, `${path}.subPath`, causes);
    if (mount.subPathExpr !== undefined) {
      if (mount.subPath !== undefined) {
        causes.invalid(`${at}.subPathExpr`, mount.subPathExpr, "subPathExpr and subPath are mutually exclusive");
      }
      validateRelativePath(mount.subPathExpr, `${path}.subPathExpr`, causes);
    }
    if (mount.mountPropagation !== undefined && !propagations.includes(mount.mountPropagation)) {
      causes.notSupported(`${path}.mountPropagation`, mount.mountPropagation, propagations);
    }
  }
}

/** A path that stays below where it is put. */
export function validateRelativePath(path: string | undefined, field: string, causes: Causes): void {
  if (path === undefined) return;
  if (path.startsWith("/")) causes.invalid(field, path, "must be a relative path");
  if (path.split("/").includes("..")) causes.invalid(field, path, "must not contain '..'");
}

function validatePolicies(container: StoredContainer, path: string, causes: Causes): void {
  const { terminationMessagePolicy, imagePullPolicy = "", restartPolicy, resizePolicy = [] } = container;
  if (!["File", "FallbackToLogsOnError"].includes(terminationMessagePolicy)) {
    causes.notSupported(`${path}.terminationMessagePolicy`, terminationMessagePolicy, ["File", "FallbackToLogsOnError"]);
  }
  if (!pullPolicies.includes(imagePullPolicy)) causes.notSupported(`${path}.imagePullPolicy`, imagePullPolicy, pullPolicies);
  if (restartPolicy !== undefined && !["Always", "Never", "OnFailure"].includes(restartPolicy)) {
    causes.notSupported(`${path}.restartPolicy`, restartPolicy, ["Always", "Never", "OnFailure"]);
  }
  for (const resize of resizePolicy) {
    validateChoice(resize.resourceName, ["cpu", "memory"], `${path}.resizePolicy`, causes);
    validateChoice(resize.restartPolicy, ["NotRequired", "RestartContainer"], `${path}.resizePolicy`, causes);
  }
}

function validateChoice(value: string, choices: readonly string[], field: string, causes: Causes): void {
  if (value === "") causes.required(field);
  else if (!choices.includes(value)) causes.notSupported(field, value, choices);
}

/** An init container that runs to its end before the others start has no probes and no hooks. */
function validateRunsOnce(container: StoredContainer, path: string, causes: Causes): void {
  for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
    if (container[field] !== undefined)
      causes.forbidden(`${path}.${field}`, "may not be set for init containers without restartPolicy=Always");
  }
}
