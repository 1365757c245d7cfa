/**
 * Takes layers of containers of one node, and puts them into the registry of the installation.
 *
 * - overlay-mount.ts   where a container's files are      - layer-file.ts    the archive, on the agent's disk
 * - hidden-names.ts    what is deleted of its image
 */
import { createReadStream, readFileSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Digester } from "#images/digest.ts";
import { ImageError } from "#images/image-error.ts";
import { type Descriptor, mediaTypes } from "#images/manifest.ts";
import { machinePlatform } from "#images/platform.ts";
import type { RegistryClient } from "#images/registry/client.ts";
import type { PushedLayer } from "#model/layer-wish.ts";
import type { CheckpointRepository } from "../checkpoints/checkpoint-repository.ts";
import { emptyScratch, type LayerLimits, writeLayer } from "./layer-file.ts";
import { overlayOf } from "./overlay-mount.ts";

export interface LayerTaker {
  /** While the container stands still. `goOn` throws when it is not wanted any more. Throws ImageError. */
  copy(containerId: string, goOn: () => void): Promise<CopiedLayer>;
}

export interface CopiedLayer extends AsyncDisposable {
  /** Into the repository of this checkpoint. */
  push(id: string, signal: AbortSignal): Promise<Omit<PushedLayer, "frozenMs">>;
}

export interface LayerTakerDeps {
  readonly client: RegistryClient;
  readonly repository: CheckpointRepository;
  /** A folder of its own. */
  readonly scratch: string;
  readonly limits: LayerLimits;
  /** The mounts that this process sees. */
  readonly mountInfo?: () => string;
}

const readBytes = 256 * 1024;

export async function openLayerTaker(deps: LayerTakerDeps): Promise<LayerTaker> {
  await emptyScratch(deps.scratch);
  let copies = 0;
  return {
    copy: async (containerId, goOn) => {
      const mount = overlayOf((deps.mountInfo ?? mountsOfProcess)(), containerId);
      if (mount === undefined) {
        throw new ImageError(
          "unsupported",
          "the files of the container are not on an overlay that the agent of its node sees: checkpoints need containerd with its overlayfs, mounted into the agent (nodeAgent.checkpoints of the chart)",
        );
      }
      const file = join(deps.scratch, `${copies++}.tar`);
      const drop = (): Promise<void> => rm(file, { force: true });
      try {
        await writeLayer(mount, file, { limits: deps.limits, goOn });
      } catch (error) {
        await drop();
        throw error;
      }
      return { push: (id, signal) => push(deps, file, id, signal), [Symbol.asyncDispose]: drop };
    },
  };
}

async function push(
  { client, repository }: LayerTakerDeps,
  file: string,
  id: string,
  signal: AbortSignal,
): ReturnType<CopiedLayer["push"]> {
  const blob = await described(file, signal);
  const secrets = await repository.secrets();
  await client.openForPush(repository.referenceOf(id), secrets).putBlob(blob, () => contentOf(file), signal);
  return { digest: blob.digest, size: blob.size, architecture: machinePlatform().architecture };
}

async function described(file: string, signal: AbortSignal): Promise<Descriptor> {
  const digester = new Digester();
  for await (const piece of contentOf(file)) {
    signal.throwIfAborted();
    digester.update(piece);
  }
  return { mediaType: mediaTypes.layerTar, digest: digester.digest(), size: (await stat(file)).size };
}

function contentOf(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: readBytes });
}

function mountsOfProcess(): string {
  return readFileSync("/proc/self/mountinfo", "utf8");
}
