/** What the idle pods of a pool have in common: everything but name, digests and the use counter. */
import { annotationKeys, isReservedKey } from "#model/keys.ts";
import type { Container, PodSpec } from "#model/pod.ts";
import { type DaemonDelivery, type DaemonSettings, deliveryOf, whyNoPlace } from "./daemon-delivery.ts";
import { runsImage } from "#sandbox/pools/entrypoint.ts";
import { type ContainerImages, idleContainerImages } from "#sandbox/images/images.ts";
import { withSecurity } from "./pod-security.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";
import { writtenChecks } from "#sandbox/runtimes/ready-checks.ts";
import { runtimeProblem } from "#sandbox/runtimes/runtime-problem.ts";
import { unaskedProbes, withRuntimes } from "./runtimes.ts";

export interface PodBlueprint {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Images are written as the template has them. */
  readonly spec: PodSpec;
  /** Pods with another daemon are outdated. How it came into them makes no difference; undefined where nodes bring it. */
  readonly daemonImage?: string;
  /** What of the template could not be kept, and why. */
  readonly warnings: readonly string[];
}

export type BlueprintResult =
  | { readonly kind: "blueprint"; readonly blueprint: PodBlueprint }
  | {
      readonly kind: "refused";
      readonly code: "no-containers" | "target-image-required" | "no-place-for-daemon" | "runtime-config";
      readonly message: string;
    };

/** Keys of ours that a template is meant to have. */
const templateKeys: ReadonlySet<string> = new Set([annotationKeys.recyclePolicy, annotationKeys.maxUses, annotationKeys.runEntrypoint]);

export function podBlueprint(template: PoolTemplate, settings: DaemonSettings): BlueprintResult {
  const { metadata, spec } = template.template ?? {};
  const images = idleContainerImages(template);
  const [first, ...others] = spec?.containers ?? [];
  if (spec === undefined || first === undefined) {
    return { kind: "refused", code: "no-containers", message: "the template has no containers: there is nothing to run" };
  }
  const delivery = deliveryOf(settings);
  const refusal = imageMissing(spec, images) ?? noPlace(spec, delivery) ?? badRuntime(template);
  if (refusal !== undefined) return refusal;
  const waiting = (container: Container): Container => ({ ...withoutLiveness(container), image: images[container.name] ?? "" });
  // What a kubelet finds out by asking it tells later than we know it ourselves, with two more writes of the pod's status for every use.
  const facts = { publicKey: settings.publicKey, runsImage: runsImage(template), isProbed: delivery.kind === "node" };
  const containers = [withRuntimes(waiting(first), template.runtimes, facts), ...others.map(waiting)];
  const made: PodSpec = { ...spec, ...fixed, containers };
  return {
    kind: "blueprint",
    blueprint: {
      labels: withoutReserved(metadata?.labels),
      annotations: { ...withoutReserved(metadata?.annotations), ...checksOf(template) },
      ...(delivery.kind === "node" ? { spec: made } : { spec: withSecurity(made), daemonImage: delivery.image }),
      warnings: warningsOf(template),
    },
  };
}

function checksOf({ runtimes }: PoolTemplate): Readonly<Record<string, string>> {
  const checks = writtenChecks(runtimes);
  return checks === undefined ? {} : { [annotationKeys.runtimeChecks]: checks };
}

type Refused = Extract<BlueprintResult, { kind: "refused" }>;

function imageMissing({ containers, initContainers = [] }: PodSpec, images: ContainerImages): Refused | undefined {
  const without = containers.find(({ name }) => !Object.hasOwn(images, name)) ?? initContainers.find(({ image = "" }) => image === "");
  if (without === undefined) return undefined;
  return { kind: "refused", code: "target-image-required", message: `container "${without.name}" of the template has no image` };
}

function noPlace(spec: PodSpec, { kind }: DaemonDelivery): Refused | undefined {
  const message = kind === "node" ? undefined : whyNoPlace(spec);
  return message === undefined ? undefined : { kind: "refused", code: "no-place-for-daemon", message };
}

function badRuntime({ runtimes }: PoolTemplate): Refused | undefined {
  const problem = runtimeProblem(runtimes);
  return problem === undefined ? undefined : { kind: "refused", code: "runtime-config", message: problem.message };
}

/** A sandbox has no identity in the cluster, gets no service variables, and its containers restart after an exchange. */
const fixed = { automountServiceAccountToken: false, enableServiceLinks: false, restartPolicy: "Always" } as const;

/** A paused sandbox answers no probe: it would be restarted, and all that pausing was to keep would be lost. */
function withoutLiveness(container: Container): Container {
  const { livenessProbe: _, ...rest } = container;
  return rest;
}

function withoutReserved(map: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !isLeftOut(key)));
}

function isLeftOut(key: string): boolean {
  return isReservedKey(key) && !templateKeys.has(key);
}

function warningsOf({ template, runtimes }: PoolTemplate): readonly string[] {
  const { metadata, spec } = template ?? {};
  const keys = [...Object.keys(metadata?.labels ?? {}), ...Object.keys(metadata?.annotations ?? {})].filter(isLeftOut);
  return [
    ...keys.map((key) => `the key ${key} is left out: it is reserved for AgentBox`),
    ...(spec === undefined ? [] : specWarnings(spec)),
    ...unaskedProbes(spec?.containers[0] ?? {}, runtimes).map(
      (name) => `the readinessProbe of runtime ${name} is not asked: a container has one, and another one was named before`,
    ),
  ];
}

function specWarnings({ containers, restartPolicy = "Always", automountServiceAccountToken }: PodSpec): readonly string[] {
  const probed = containers.filter(({ livenessProbe }) => livenessProbe !== undefined);
  return [
    ...probed.map(({ name }) => `the livenessProbe of container ${name} is left out: a paused sandbox would fail it and be restarted`),
    ...(restartPolicy === "Always" ? [] : [`restartPolicy is Always and not ${restartPolicy}`]),
    ...(automountServiceAccountToken === true ? ["no service account token is mounted into a sandbox"] : []),
  ];
}
