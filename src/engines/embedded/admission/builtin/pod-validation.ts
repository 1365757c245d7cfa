/**
 * Checks a pod. `container-validation.ts` (and the files it names), `volume-validation.ts` and `placement-validation.ts` check
 * its parts.
 */
import { isIP } from "node:net";
import type { Causes } from "../causes.ts";
import { validateLabels } from "../metadata-rules.ts";
import { dnsLabelMistakes, dnsSubdomainMistakes, qualifiedNameMistakes, rangeMistakes, searchDomainMistakes } from "#model/names.ts";
import { validateContainers } from "./container-validation.ts";
import type { StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import { validatePlacement } from "./placement-validation.ts";
import { validatePodSecurity } from "./security-validation.ts";
import { validateVolumes } from "./volume-validation.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
export const notAnAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

export function validatePodSpec(spec: StoredPodSpec, causes: Causes): void {
  const volumes = validateVolumes(spec, causes);
  validateContainers({ spec, volumes, containerNames: new Set() }, causes);
  if (!restartPolicies.includes(spec.restartPolicy)) causes.notSupported("spec.restartPolicy", spec.restartPolicy, restartPolicies);
  validateNetwork(spec, causes);
  if (spec.nodeSelector !== undefined) validateLabels(spec.nodeSelector, "spec.nodeSelector", causes);
  validatePodSecurity(spec, causes);
  validateNames(spec, causes);
  validateScheduling(spec, causes);
  validatePlacement(spec, causes);
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined) {
    for (const mistake of rangeMistakes(deadline, 1, 2 ** 31 - 1)) causes.invalid("spec.activeDeadlineSeconds", deadline, mistake);
  }
  if (spec.os?.name === "") causes.required("spec.os.name");
  else if (spec.os !== undefined && !["linux", "windows"].includes(spec.os.name)) {
    causes.notSupported("spec.os", spec.os.name, ["linux", "windows"]);
  }
}

function validateNames(spec: StoredPodSpec, causes: Causes): void {
  const { serviceAccountName, nodeName, hostname, subdomain } = spec;
  if (serviceAccountName !== undefined)
    causes.invalidEach("spec.serviceAccountName", serviceAccountName, dnsSubdomainMistakes(serviceAccountName));
  if (nodeName !== undefined) causes.invalidEach("spec.nodeName", nodeName, dnsSubdomainMistakes(nodeName));
  if (hostname !== undefined) causes.invalidEach("spec.hostname", hostname, dnsLabelMistakes(hostname));
  if (subdomain !== undefined) causes.invalidEach("spec.subdomain", subdomain, dnsLabelMistakes(subdomain));
}

function validateNetwork({ dnsPolicy, dnsConfig, hostAliases = [] }: StoredPodSpec, causes: Causes): void {
  if (!dnsPolicies.includes(dnsPolicy)) causes.notSupported("spec.dnsPolicy", dnsPolicy, dnsPolicies);
  if (dnsConfig !== undefined) validateDns(dnsConfig, "spec.dnsConfig", causes);
  else if (dnsPolicy === "None") causes.required("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
  for (const [index, { ip, hostnames = [] }] of hostAliases.entries()) {
    validateAddress(ip, `spec.hostAliases[${index}].ip`, causes);
    for (const [nameIndex, name] of hostnames.entries()) {
      causes.invalidEach(`spec.hostAliases[${index}].hostnames[${nameIndex}]`, name, dnsSubdomainMistakes(name));
    }
  }
}

function validateDns(config: NonNullable<StoredPodSpec["dnsConfig"]>, path: string, causes: Causes): void {
  const { nameservers = [], searches = [], options = [] } = config;
  for (const [index, server] of nameservers.entries()) validateAddress(server, `${path}.nameservers[${index}]`, causes);
  for (const [index, domain] of searches.entries()) {
    causes.invalidEach(`${path}.searches[${index}]`, domain, searchDomainMistakes(domain.replace(/\.$/, "")));
  }
  for (const [index, option] of options.entries()) {
    if (option.name === undefined) causes.required(`${path}.options[${index}]`, "must not be empty");
  }
}

function validateAddress(address: string, field: string, causes: Causes): void {
  if (isIP(address) === 0) causes.invalid(field, address, notAnAddress);
}

function validateScheduling(spec: StoredPodSpec, causes: Causes): void {
  for (const [index, { conditionType }] of (spec.readinessGates ?? []).entries()) {
    causes.invalidEach(`spec.readinessGates[${index}].conditionType`, conditionType, qualifiedNameMistakes(conditionType));
  }
  const gates = new Set<string>();
  for (const [index, { name }] of (spec.schedulingGates ?? []).entries()) {
    const field = `spec.schedulingGates[${index}]`;
    causes.invalidEach(field, name, qualifiedNameMistakes(name));
    if (gates.has(name)) causes.duplicate(field, name);
    gates.add(name);
  }
  if (gates.size > 0 && spec.nodeName !== undefined) {
    causes.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
  }
}
