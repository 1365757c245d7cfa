/**
 * What checkpoints and their images are called. A checkpoint that an API made is an object `cp-…` and has that as its id; one that was made with
 * another name gets an id from its uid. The image has the id as the last part of its name, so an image that is named by a request leads to the
 * object that says which team may use it. On one machine it stands below a registry name that no registry can have; on a cluster below the
 * repository of the installation, where nodes pull it from.
 */
import { createHash, randomInt } from "node:crypto";
import type { Checkpoint } from "./checkpoint.ts";

/** `.internal` is kept out of the public name system: no registry has this name. */
const registry = "checkpoints.agentbox.internal";
const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
const idLength = 20;
const idPattern = /^cp-[a-z0-9]{20}$/;
const imagePattern = /(?:^|\/)(?<id>cp-[a-z0-9]{20})(?:[:@].*)?$/;

/** On the image of a checkpoint: what its lowest layer stands on. `host`: the machine itself; else the image, with its digest. */
export const baseLabel = "agentbox.navix.sh/base";

export function isCheckpointId(text: string): boolean {
  return idPattern.test(text);
}

/** Cannot be guessed. */
export function newCheckpointId(): string {
  return `cp-${Array.from({ length: idLength }, () => letters[randomInt(letters.length)] ?? "").join("")}`;
}

export function checkpointIdOf({ metadata: { name = "", uid = "" } }: Pick<Checkpoint, "metadata">): string {
  if (isCheckpointId(name)) return name;
  const hash = createHash("sha256").update(uid).digest();
  return `cp-${Array.from(hash.subarray(0, idLength), (byte) => letters[byte % letters.length] ?? "").join("")}`;
}

export function checkpointImage(id: string): string {
  return `${registry}/${id}`;
}

/** True for every name that only a checkpoint of one machine can have, also one that is malformed. */
export function isCheckpointImage(image: string): boolean {
  return image === registry || image.startsWith(`${registry}/`) || image.startsWith(`${registry}:`);
}

/** By the last part of its name, whatever the registry. Undefined if the image is not that of a checkpoint. */
export function checkpointIn(image: string | undefined): string | undefined {
  return imagePattern.exec(image ?? "")?.groups?.["id"];
}
