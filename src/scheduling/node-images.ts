import { digestIn } from "#sandbox/images/image-pin.ts";
import type { Pod } from "#model/pod.ts";

/** Only images in use are listed here, so these limits are for unexpected cases. */
const maxImages = 1000;
const maxNodesOfImage = 200;

/**
 * On which nodes an image is likely to be: those where a container of it has been seen. Only a preference hangs on it, so it may be
 * wrong: a node that has thrown an image away is found out by pulling it again.
 */
export class NodeImages {
  readonly #nodes = new Map<string, Set<string>>();

  /** The last to be known comes first. */
  nodesWith(digest: string): readonly string[] {
    return [...(this.#nodes.get(digest) ?? [])].reverse();
  }

  observe({ spec: { nodeName }, status }: Pod): void {
    if (nodeName === undefined) return;
    for (const { imageID, state } of status?.containerStatuses ?? []) {
      const digest = state?.running === undefined ? undefined : digestIn(imageID);
      if (digest !== undefined) this.#note(digest, nodeName);
    }
  }

  #note(digest: string, node: string): void {
    const nodes = this.#nodes.get(digest) ?? this.#add(digest);
    if (nodes.has(node)) return;
    nodes.add(node);
    dropOldest(nodes, maxNodesOfImage);
  }

  #add(digest: string): Set<string> {
    const nodes = new Set<string>();
    this.#nodes.set(digest, nodes);
    dropOldest(this.#nodes, maxImages);
    return nodes;
  }
}

function dropOldest(kept: Map<string, unknown> | Set<string>, limit: number): void {
  if (kept.size <= limit) return;
  for (const key of kept.keys()) {
    kept.delete(key);
    return;
  }
}
