/**
 * Which team's pods brought which images here: a small file for each team and image, written before the first layer is fetched. It counts for as
 * long as the garbage collection leaves the image on the disk, also when the pull failed halfway. An image that was here already counts for no further team.
 */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Type } from "typebox";
import { type Digest, digestOf, hexOf, parseDigest } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { parseJsonAs } from "../json-shape.ts";
import type { Blobs } from "./blobs.ts";
import type { LayerPart } from "./image-parts.ts";
import type { Layers } from "./layers.ts";
import type { Scratch } from "./scratch.ts";

/** What a team's images may take of the disk. */
export interface TeamBudget {
  readonly team: string;
  readonly maxBytes: number;
}

export interface TeamShare {
  readonly team: string;
  readonly manifest: Digest;
  readonly parts: readonly Part[];
}

interface Part {
  readonly chainId: Digest;
  readonly blob: Digest;
  /** Of the blob. */
  readonly size: number;
}

const shareSchema = Type.Object({
  team: Type.String(),
  manifest: Type.String(),
  parts: Type.Array(Type.Object({ chainId: Type.String(), blob: Type.String(), size: Type.Integer() })),
});

export interface TeamSharesDeps {
  readonly scratch: Scratch;
  readonly blobs: Blobs;
  readonly layers: Layers;
}

const mib = 1024 ** 2;

export class TeamShares {
  readonly #folder: string;
  readonly #deps: TeamSharesDeps;
  /** Pulls of this process, by the path of their share. */
  readonly #underWay = new Map<string, number>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(folder: string, deps: TeamSharesDeps) {
    this.#folder = folder;
    this.#deps = deps;
  }

  /**
   * Brings an image on behalf of a team, from now on counted as the team's. Throws team_limit before anything is fetched, when what
   * the team has and the compressed layers that are missing are too much. Checks come one after the other, so that two pulls do not take the same room.
   */
  async bringing<T>(budget: TeamBudget, image: Omit<TeamShare, "team">, work: () => Promise<T>): Promise<T> {
    const share = { ...image, team: budget.team };
    const path = this.#path(share);
    await this.#inTurn(() => this.#take(budget, share, path));
    try {
      return await work();
    } finally {
      const left = (this.#underWay.get(path) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(path);
      else this.#underWay.set(path, left);
    }
  }

  /** What a team has brought here, each layer once. What is being fetched counts in full. */
  async usedBytes(team: string): Promise<number> {
    return this.#bytes(await this.of(team), new Set());
  }

  async of(team: string): Promise<readonly TeamShare[]> {
    const folder = this.#folderOf(team);
    const shares: TeamShare[] = [];
    for (const name of await readdir(folder).catch(() => [])) {
      const share = await readShare(join(folder, name));
      if (share !== undefined) shares.push(share);
    }
    return shares;
  }

  /** All teams that have brought something. */
  async teams(): Promise<readonly string[]> {
    const teams: string[] = [];
    for (const folder of await readdir(this.#folder).catch(() => [])) {
      const [first] = await readdir(join(this.#folder, folder));
      const share = first === undefined ? undefined : await readShare(join(this.#folder, folder, first));
      if (share !== undefined) teams.push(share.team);
    }
    return teams.sort();
  }

  /** Forgets images that are gone; layers of theirs that are left belong to other images. For the garbage collection: nothing may be added meanwhile. */
  async tidy(): Promise<void> {
    for (const team of await this.teams()) {
      for (const share of await this.of(team)) {
        if (!(await this.#deps.blobs.has(share.manifest))) await this.#deps.scratch.remove(this.#path(share));
      }
      if ((await this.of(team)).length === 0) await this.#deps.scratch.remove(this.#folderOf(team));
    }
  }

  async #take({ team, maxBytes }: TeamBudget, share: TeamShare, path: string): Promise<void> {
    const own = new Set(share.parts.flatMap(({ chainId, blob }) => [chainId, blob]));
    const others = await this.#bytes(await this.of(team), own);
    const here = await this.#bytes([share], new Set());
    const missing = await this.#missingBytes(share);
    if (others + here + missing > maxBytes) throw overLimit({ team, maxBytes }, others + here, missing);
    await mkdir(dirname(path), { recursive: true });
    await this.#deps.scratch.writeFile(path, JSON.stringify(share));
    this.#underWay.set(path, (this.#underWay.get(path) ?? 0) + 1);
  }

  async #bytes(shares: readonly TeamShare[], except: ReadonlySet<Digest>): Promise<number> {
    const { blobs, layers } = this.#deps;
    const counted = new Set(except);
    let sum = 0;
    for (const share of shares) {
      const isComing = this.#underWay.has(this.#path(share));
      for (const { chainId, blob, size } of share.parts) {
        const layer = counted.has(chainId) ? 0 : await layers.diskBytes(chainId);
        if (!counted.has(blob)) sum += (await blobs.size(blob)) ?? (isComing && layer === 0 ? size : 0);
        sum += layer;
        counted.add(chainId).add(blob);
      }
    }
    return sum;
  }

  async #missingBytes({ parts }: TeamShare): Promise<number> {
    const { blobs, layers } = this.#deps;
    let sum = 0;
    for (const { chainId, blob, size } of parts) if (!(await layers.has(chainId)) && !(await blobs.has(blob))) sum += size;
    return sum;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work, work);
    this.#turn = done;
    return done;
  }

  #folderOf(team: string): string {
    return join(this.#folder, hexOf(digestOf(team)));
  }

  #path({ team, manifest }: TeamShare): string {
    return join(this.#folderOf(team), `${hexOf(manifest)}.json`);
  }
}

export function partsToShare(layers: readonly LayerPart[]): readonly Part[] {
  return layers.map(({ chainId, blob }) => ({ chainId, blob: blob.digest, size: blob.size }));
}

/** Tenants read it. */
export function overLimit({ team, maxBytes }: TeamBudget, usedBytes: number, moreBytes?: number): ImageError {
  const inMib = (bytes: number): number => Math.ceil(bytes / mib);
  const more = moreBytes === undefined ? "what this image unpacks to is too much" : `this image needs at least ${inMib(moreBytes)} more`;
  const remedy = "Images that no pod uses are removed within minutes";
  return new ImageError(
    "team_limit",
    `team ${team} may have ${Math.floor(maxBytes / mib)} MiB of images on a machine (limit imageMiB): it has ${inMib(usedBytes)}, and ${more}. ` +
      `${remedy}. An admin can raise it: agentbox limits set --team ${team} imageMiB=N`,
  );
}

async function readShare(path: string): Promise<TeamShare | undefined> {
  const text = await readFile(path).catch(() => undefined);
  if (text === undefined) return undefined;
  const { team, manifest, parts } = parseJsonAs(shareSchema, text, path);
  const digests = parts.map(({ chainId, blob, size }) => ({ chainId: parseDigest(chainId, path), blob: parseDigest(blob, path), size }));
  return { team, manifest: parseDigest(manifest, path), parts: digests };
}
