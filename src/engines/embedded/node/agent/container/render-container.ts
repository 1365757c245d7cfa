/**
 * Turns a container of a pod's spec into the runtime's input. Pure: everything that must be read is passed in.
 *
 * - `identity.ts`      which container it is
 * - `environment.ts`   its variables, with `expand.ts` and `field-value.ts`
 * - `volumes.ts`       its mounts
 * - `security.ts`      its user and rights
 * - `sources.ts`       reads the ConfigMaps and Secrets that these need
 * - `pod-slot.ts`      the runtime's input for the pod as a whole
 */
import { parseReference, repositoryName } from "#images/reference.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { daemonCommand } from "#model/daemon-command.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { ContainerPlan } from "../../pod-runtime.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { NodePod } from "../node-pod.ts";
import { containerVariables } from "./environment.ts";
import { expand } from "./expand.ts";
import type { PodFacts } from "./field-value.ts";
import { containerHash, noteAnnotations } from "./identity.ts";
import { RenderError } from "./render-error.ts";
import { containerSecurity } from "./security.ts";
import type { Sources } from "./sources.ts";
import { containerMounts } from "./volumes.ts";
import { hostnameOf } from "./pod-slot.ts";

export interface ContainerToRender {
  readonly facts: PodFacts;
  readonly container: StoredContainer;
  readonly id: string;
  readonly attempt: number;
  readonly image: ResolvedImage;
  readonly sources: Sources;
  readonly logFile: string;
  /** The control plane's public key, for the daemon. */
  readonly controlPlaneKey: string;
}

const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function renderContainer(wanted: ContainerToRender): ContainerPlan {
  const { facts, container, id, attempt, image, sources, logFile } = wanted;
  const { pod } = facts;
  const variables = containerVariables(facts, container, sources);
  const daemon = runsDaemon(pod, container);
  return {
    id,
    podUid: pod.metadata.uid,
    name: container.name,
    attempt,
    image,
    argv: daemon
      ? [...daemonCommand, ...forDaemon(pod, container, variables)]
      : required(ownCommand(container, image, variables), container),
    env: {
      PATH: usualPath,
      HOSTNAME: hostnameOf(pod),
      ...imageVariables(image),
      ...Object.fromEntries(variables),
      ...(daemon ? daemonVariables(wanted) : {}),
    },
    workingDir: [container.workingDir, image.config.workingDir, "/"].find((folder) => folder !== undefined && folder !== "") ?? "/",
    security: containerSecurity(pod, container, image.config.user),
    resources: container.resources ?? {},
    mounts: containerMounts(facts, container, sources),
    annotations: noteAnnotations({
      hash: containerHash(container),
      image: container.image ?? "",
      imageId: `${repositoryName(parseReference(container.image ?? ""))}@${image.digest}`,
      stopSignal: container.lifecycle?.stopSignal ?? image.config.stopSignal ?? "",
    }),
    logFile,
    daemon,
  };
}

/** The daemon is in the first container of every pod that a pool made: that is where its sandbox lives. */
export function runsDaemon({ metadata, spec }: NodePod, container: StoredContainer): boolean {
  return metadata.labels?.[labelKeys.sandboxPool] !== undefined && spec.containers[0]?.name === container.name;
}

/** What of the pod's own command the daemon is to run, as a kubelet would hand it over; the image's comes when it is armed. */
function forDaemon(
  { metadata }: NodePod,
  { command = [], args = [] }: StoredContainer,
  variables: ReadonlyMap<string, string>,
): readonly string[] {
  if (metadata.annotations?.[annotationKeys.runEntrypoint] !== "true") return [];
  return [...command, ...args].map((text) => expand(text, variables));
}

/** The image's entrypoint and command, as far as the pod leaves them in place. */
function ownCommand(
  { command = [], args = [] }: StoredContainer,
  { config }: ResolvedImage,
  variables: ReadonlyMap<string, string>,
): readonly string[] {
  const ours = (texts: readonly string[]): readonly string[] => texts.map((text) => expand(text, variables));
  if (command.length > 0) return [...ours(command), ...ours(args)];
  return [...config.entrypoint, ...(args.length > 0 ? ours(args) : config.cmd)];
}

function required(argv: readonly string[], { name, image }: StoredContainer): readonly string[] {
  if (argv.length > 0) return argv;
  throw new RenderError("config", `the image "${image ?? ""}" has no command and the container ${name} gives none`);
}

function imageVariables({ config }: ResolvedImage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    config.env.map((text) => {
      const [name = "", value = ""] = text.split(/=(.*)/s);
      return [name, value];
    }),
  );
}

function daemonVariables({ facts: { pod }, controlPlaneKey }: ContainerToRender): Readonly<Record<string, string>> {
  return { AGENTBOX_POD_UID: pod.metadata.uid, AGENTBOX_PUBLIC_KEY: controlPlaneKey };
}
