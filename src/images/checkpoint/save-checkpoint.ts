/**
 * What a container has changed, as an image: the layers of the image that it runs, and one more on top (ADR 79).
 *
 * The copy itself becomes the unpacked layer, so that holes, sockets and attributes that an archive cannot hold stay. The archive is made
 * only to know its digest, and made again when the image leaves this machine (export-image.ts): a layer of ours is stored once.
 *
 * - prepare-copy.ts: what a copy may not hold, and how large it is    - export-image.ts: into an OCI layout
 * - base-image.ts: what the container runs on                         - checkpoint-names.ts: images by the ids of their checkpoints
 * - changed-config.ts: how its containers start                        - publish-checkpoint.ts: the same in a registry, on a cluster
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { packFolder } from "#images/layer/pack.ts";
import { probeMarks } from "#images/layer/overlay-marks.ts";
import type { CheckpointConfig } from "#model/checkpoint.ts";
import type { ContentStore } from "../content-store/content-store.ts";
import { partsOf } from "../content-store/image-parts.ts";
import type { ImageRecord } from "../content-store/image-records.ts";
import { partsToShare, type TeamBudget, type TeamShare } from "../content-store/team-shares.ts";
import { Digester } from "../digest.ts";
import type { HostImage } from "../host-image.ts";
import { type ConfigFile, type ImageConfig, writeConfig } from "../image-config.ts";
import { RoomWatch } from "../layer/disk-room.ts";
import { type Descriptor, mediaTypes, writeManifest } from "../manifest.ts";
import type { Platform } from "../platform.ts";
import { type BaseImage, baseImage } from "./base-image.ts";
import { changedConfig, checkImageSize } from "./changed-config.ts";
import { findCheckpoint } from "./checkpoint-names.ts";
import { type CopyFacts, prepareCopy } from "./prepare-copy.ts";

export interface CheckpointToSave {
  /** Name of the image, without tag and digest. */
  readonly name: string;
  /** The image that the container runs, with its digest. */
  readonly base: string;
  readonly config?: CheckpointConfig | undefined;
  /** Whose it is, and how much its images may take. Left out: no team's. */
  readonly budget?: TeamBudget | undefined;
  /** About so many bytes will come: refused before the sandbox stands still when they have no room. */
  readonly expectedBytes: number;
  /** Copies what the container has changed into this folder, which is empty. */
  readonly copy: (folder: string) => Promise<void>;
}

export interface SaveDeps {
  readonly store: ContentStore;
  readonly platform: Platform;
  readonly host?: HostImage | undefined;
}

export interface SavedCheckpoint {
  readonly record: ImageRecord;
  /** Of the layer on the disk. */
  readonly bytes: number;
}

/** All of it or nothing; what is saved already is found. */
export function saveCheckpoint(deps: SaveDeps, wanted: CheckpointToSave, signal?: AbortSignal): Promise<SavedCheckpoint> {
  const { store } = deps;
  return store.adding(async () => {
    const known = await findCheckpoint(store, wanted.name);
    if (known !== undefined) return known;
    const base = await baseImage(deps, wanted.base);
    const start = changedConfig(base.config, wanted.config);
    checkImageSize(base, start);
    void new RoomWatch(store.folder, store.limits.reserveBytes, wanted.expectedBytes);
    return store.drafting(async (draft) => {
      const folder = join(draft, "fs");
      await mkdir(folder, { recursive: true });
      await wanted.copy(folder);
      signal?.throwIfAborted();
      return add(deps, { wanted, base, start, draft, folder }, signal);
    });
  }, signal);
}

interface Adding {
  readonly wanted: CheckpointToSave;
  readonly base: BaseImage;
  readonly start: ImageConfig;
  readonly draft: string;
  readonly folder: string;
}

async function add(
  { store, platform }: SaveDeps,
  { wanted, base, start, draft, folder }: Adding,
  signal?: AbortSignal,
): Promise<SavedCheckpoint> {
  const facts = await prepareCopy(folder, probeMarks(store.folder), store.limits);
  const layer = await describe(store, folder, signal);
  const config: ConfigFile = {
    platform: base.platform ?? platform,
    config: start,
    diffIds: [...base.diffIds, layer.digest],
  };
  const text = writeConfig(config);
  const id = await store.blobs.put(text);
  const layers = [...base.layers, layer];
  const manifest = writeManifest({ mediaType: mediaTypes.config, digest: id, size: text.length }, layers, {
    "org.opencontainers.image.base.name": wanted.base,
  });
  const digest = await store.blobs.put(manifest);
  const top = partsOf(layers, config, wanted.name).layers.slice(-1);
  const own: ImageRecord = {
    name: `${wanted.name}@${digest}`,
    digest,
    manifest: digest,
    id,
    source: "checkpoint",
    since: store.clock.now(),
    ...(wanted.budget === undefined ? {} : { team: wanted.budget.team }),
  };
  const place = async (): Promise<SavedCheckpoint> => {
    for (const { chainId, diffId } of top) await store.layers.adopt(chainId, draft, { diffId, ...layerFacts(facts) });
    signal?.throwIfAborted();
    await store.images.put(own);
    return { record: own, bytes: facts.diskBytes };
  };
  if (wanted.budget === undefined) return place();
  const parts = [...partsToShare(top), ...(await inherited(store, wanted.budget, base))];
  return store.shares.bringing(wanted.budget, { manifest: digest, parts }, place);
}

/** What is below stays for as long as this image does, so the team that brought it goes on to have it when the image below is removed. */
async function inherited({ shares }: ContentStore, { team }: TeamBudget, { manifest }: BaseImage): Promise<TeamShare["parts"]> {
  return (await shares.of(team)).find((share) => share.manifest === manifest)?.parts ?? [];
}

function layerFacts({ bytes, entries, diskBytes }: CopyFacts): CopyFacts {
  return { bytes, entries, diskBytes };
}

/** What the folder is as an archive. */
async function describe(store: ContentStore, folder: string, signal: AbortSignal | undefined): Promise<Descriptor> {
  const digester = new Digester();
  let size = 0;
  for await (const chunk of packFolder(folder, { marks: probeMarks(store.folder) })) {
    signal?.throwIfAborted();
    digester.update(chunk);
    size += chunk.length;
  }
  return { mediaType: mediaTypes.layerTar, digest: digester.digest(), size };
}
