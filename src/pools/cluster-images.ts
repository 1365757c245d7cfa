/** What tags mean to the pods of a pool, and what images run: asked of registries with the credentials that their nodes show. */
import { ImageError, isImageError } from "#images/image-error.ts";
import type { CommandReader } from "#images/read-command.ts";
import type { PullSecret } from "#images/registry/pull-secret.ts";
import type { DigestResolver } from "#images/resolve-digest.ts";
import { checkpointIn } from "#model/checkpoint-image.ts";
import { abortable } from "#lib/abortable.ts";
import type { DigestOptions, ImageCommands, ImageDigests } from "./pool-images.ts";
import { PullSecrets, type PullSecretsDeps } from "./pull-secrets.ts";

export interface ClusterImagesDeps extends PullSecretsDeps {
  readonly resolver: DigestResolver;
  readonly reader: CommandReader;
  /** The team that a checkpoint belongs to, "" for none; undefined when there is no such checkpoint. Left out: nodes look themselves. */
  readonly checkpointTeam?: ((id: string) => string | undefined) | undefined;
}

export function clusterImages(deps: ClusterImagesDeps): ImageDigests & ImageCommands {
  const { resolver, reader } = deps;
  const secrets = new PullSecrets(deps);
  return {
    resolve: async (image, options) => {
      checkCheckpoint(deps, image, options);
      return withSecrets(secrets, options, (shown) => resolver.resolve(image, shown));
    },
    commandOf: async (image, digest, options) => {
      checkCheckpoint(deps, image, options);
      return withSecrets(secrets, options, (shown) => reader.commandOf(image, digest, shown));
    },
  };
}

/**
 * Every image is asked for here before a pod gets it, and nodes pull whatever a pod names: so this is where a checkpoint of another team ends, whatever
 * names it. What is foreign does not exist (I8).
 */
function checkCheckpoint({ checkpointTeam }: ClusterImagesDeps, image: string, { puller }: DigestOptions): void {
  const id = checkpointIn(image);
  if (id === undefined || checkpointTeam === undefined) return;
  const team = checkpointTeam(id);
  if (team === undefined || (team !== "" && puller?.teams?.includes(team) !== true)) {
    throw new ImageError("not_found", `there is no image ${image}`);
  }
}

interface Shown {
  readonly signal: AbortSignal;
  readonly pullSecrets?: readonly PullSecret[];
  readonly isProof?: boolean;
}

async function withSecrets<T>(secrets: PullSecrets, options: DigestOptions, ask: (shown: Shown) => Promise<T>): Promise<T> {
  const { signal, puller } = options;
  if (puller === undefined) return ask({ signal });
  if (puller.choice === "public") return withoutSecrets(signal, ask);
  const isProof = puller.choice === "access";
  const shown = await abortable(secrets.of(puller), signal);
  try {
    return await ask({ signal, pullSecrets: shown, isProof });
  } catch (error) {
    // Some registries do not know an image that one may not see. Others have been given new secrets since.
    if (!isImageError(error, "unauthorized", "not_found")) throw error;
    const now = await abortable(secrets.of(puller, true), signal);
    if (now.length === shown.length && now.every((secret, index) => secret === shown[index])) throw error;
    return ask({ signal, pullSecrets: now, isProof });
  }
}

async function withoutSecrets<T>(signal: AbortSignal, ask: (shown: Shown) => Promise<T>): Promise<T> {
  try {
    return await ask({ signal, pullSecrets: [], isProof: true });
  } catch (error) {
    if (!isImageError(error, "unauthorized", "not_found")) throw error;
    throw new ImageError(error.code, `${error.message}; the pool's pull secrets are not for this repository`, {
      detail: error.detail,
      cause: error,
    });
  }
}
