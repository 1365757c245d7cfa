import type { Causes } from "../causes.ts";
import { rangeMistakes } from "#model/names.ts";
import type { StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { PodSecurityContext, SecurityContext } from "#model/kubernetes.generated.ts";

const maxId = 2 ** 31 - 1;
const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];
const sysctlForm = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const isSysctl = new RegExp(sysctlForm);

export function validatePodSecurity(spec: StoredPodSpec, causes: Causes): void {
  const context: PodSecurityContext = spec.securityContext;
  const path = "spec.securityContext";
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    causes.invalid(`${path}.shareProcessNamespace`, true, "ShareProcessNamespace and HostPID cannot both be enabled");
  }
  validateId(context.fsGroup, `${path}.fsGroup`, causes);
  validateCommon(context, path, causes);
  for (const [index, group] of (context.supplementalGroups ?? []).entries())
    validateId(group, `${path}.supplementalGroups[${index}]`, causes);
  validateSysctls(context, `${path}.sysctls`, causes);
  const { fsGroupChangePolicy } = context;
  if (fsGroupChangePolicy !== undefined && !["Always", "OnRootMismatch"].includes(fsGroupChangePolicy)) {
    causes.notSupported(`${path}.fsGroupChangePolicy`, fsGroupChangePolicy, ["Always", "OnRootMismatch"]);
  }
  if (spec.hostUsers === false) validateOwnUsers(spec, causes);
}

/** A pod with users of its own cannot share what belongs to the users of its node. */
function validateOwnUsers(spec: StoredPodSpec, causes: Causes): void {
  const shared = { "spec.hostNetwork": spec.hostNetwork, "spec.HostPID": spec.hostPID, "spec.HostIPC": spec.hostIPC };
  for (const [field, isShared] of Object.entries(shared)) if (isShared === true) causes.forbidden(field, "when `hostUsers` is false");
}

export function validateContainerSecurity(context: SecurityContext | undefined, path: string, causes: Causes): void {
  if (context === undefined) return;
  validateCommon(context, path, causes);
  const { procMount, privileged, allowPrivilegeEscalation, capabilities } = context;
  if (procMount !== undefined && !["Default", "Unmasked"].includes(procMount)) {
    causes.notSupported(`${path}.procMount`, procMount, ["Default", "Unmasked"]);
  }
  if (allowPrivilegeEscalation !== false) return;
  if (privileged === true) causes.invalid(path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  if ((capabilities?.add ?? []).includes("CAP_SYS_ADMIN")) {
    causes.invalid(path, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
  }
}

function validateCommon(context: PodSecurityContext | SecurityContext, path: string, causes: Causes): void {
  validateId(context.runAsUser, `${path}.runAsUser`, causes);
  validateId(context.runAsGroup, `${path}.runAsGroup`, causes);
  validateProfile(context.seccompProfile, `${path}.seccompProfile`, "seccomp type", causes);
  validateProfile(context.appArmorProfile, `${path}.appArmorProfile`, "AppArmor type", causes);
}

function validateProfile(profile: SecurityContext["seccompProfile"], path: string, what: string, causes: Causes): void {
  if (profile === undefined) return;
  const { localhostProfile } = profile;
  // What a client wrote, which may be none of the types.
  const type: string = profile.type;
  if (type === "") causes.required(`${path}.type`, "type is required when seccompProfile is set");
  else if (!profileTypes.includes(type)) causes.notSupported(`${path}.type`, type, profileTypes);
  if (type === "Localhost" && localhostProfile === undefined) {
    causes.required(`${path}.localhostProfile`, `must be set when ${what} is Localhost`);
  } else if (type !== "Localhost" && localhostProfile !== undefined) {
    causes.invalid(`${path}.localhostProfile`, localhostProfile, `can only be set when ${what} is Localhost`);
  }
}

function validateSysctls(context: PodSecurityContext, path: string, causes: Causes): void {
  const names = new Set<string>();
  for (const [index, { name }] of (context.sysctls ?? []).entries()) {
    const field = `${path}[${index}].name`;
    if (name === "") causes.required(field);
    else if (name.length > 253 || !isSysctl.test(name)) {
      causes.invalid(field, name, `must have at most 253 characters and match regex ${sysctlForm}`);
    } else if (names.has(name)) causes.duplicate(field, name);
    names.add(name);
  }
}

function validateId(id: number | undefined, field: string, causes: Causes): void {
  if (id !== undefined) for (const mistake of rangeMistakes(id, 0, maxId)) causes.invalid(field, id, mistake);
}
