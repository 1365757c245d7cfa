/** The variables of a container, by Kubernetes' rules: whole objects first, then single ones, each of which may use those before it. */
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { ConfigMapKeySelector, EnvFromSource, EnvVar } from "#model/kubernetes.generated.ts";
import { expand } from "./expand.ts";
import { fieldValue, type PodFacts, resourceValue } from "./field-value.ts";
import { RenderError } from "./render-error.ts";
import type { Sources } from "./sources.ts";

/** What the pod says; the image's own variables are not among them. */
export function containerVariables(facts: PodFacts, container: StoredContainer, sources: Sources): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const from of container.envFrom ?? []) {
    for (const [name, value] of wholeObject(from, sources)) variables.set(name, value);
  }
  for (const variable of container.env ?? []) {
    const value = valueOf(facts, container, variable, { sources, variables });
    if (value !== undefined) variables.set(variable.name, value);
  }
  return variables;
}

function wholeObject({ prefix = "", configMapRef, secretRef }: EnvFromSource, sources: Sources): readonly (readonly [string, string])[] {
  const kind = configMapRef === undefined ? "secret" : "configmap";
  const { name = "", optional = false } = configMapRef ?? secretRef ?? {};
  const data = dataOf(sources, kind, name);
  if (data === undefined && !optional) throw new RenderError("config", `${kind} "${name}" not found`);
  // A key that cannot be a variable is no reason not to start: it is left out, as everywhere.
  return Object.entries(data ?? {}).flatMap(([key, value]) => (isVariableName(prefix + key) ? [[prefix + key, value] as const] : []));
}

function isVariableName(name: string): boolean {
  return /^[ -<>-~]+$/.test(name);
}

type Data = Readonly<Record<string, string>>;

/** Undefined when there is no such object. */
function dataOf({ configMaps, secrets }: Sources, kind: "configmap" | "secret", name: string): Data | undefined {
  if (kind === "configmap") {
    const map = configMaps.get(name);
    return map && (map.data ?? {});
  }
  const secret = secrets.get(name);
  return (
    secret && Object.fromEntries(Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]))
  );
}

interface Known {
  readonly sources: Sources;
  readonly variables: ReadonlyMap<string, string>;
}

/** Undefined for an optional value that is not there. */
function valueOf(facts: PodFacts, container: StoredContainer, variable: EnvVar, { sources, variables }: Known): string | undefined {
  const { value, valueFrom } = variable;
  if (valueFrom?.fieldRef !== undefined) return fieldValue(facts, valueFrom.fieldRef.fieldPath);
  if (valueFrom?.resourceFieldRef !== undefined) return resourceValue(facts, container, valueFrom.resourceFieldRef);
  if (valueFrom?.configMapKeyRef !== undefined) return keyOf(sources, "configmap", valueFrom.configMapKeyRef);
  if (valueFrom?.secretKeyRef !== undefined) return keyOf(sources, "secret", valueFrom.secretKeyRef);
  return expand(value ?? "", variables);
}

function keyOf(sources: Sources, kind: "configmap" | "secret", { name = "", key, optional }: ConfigMapKeySelector): string | undefined {
  const data = dataOf(sources, kind, name);
  const value = data?.[key];
  if (value !== undefined || optional === true) return value;
  throw new RenderError("config", data === undefined ? `${kind} "${name}" not found` : `${kind} "${name}" has no key "${key}"`);
}
