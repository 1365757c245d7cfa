/**
 * Node with its loader and libraries: the lowest layer of both images of ours, so that it is compressed, sent and kept on
 * a cluster's nodes once. It is part of the daemon's folder, which stands in /.envd of a sandbox.
 */
import type { Archive } from "#images/build/build-layer.ts";
import { entriesBelow, packEntries } from "#images/build/layer-entries.ts";

export function isOfRuntime(path: string): boolean {
  return path === "node" || path === "lib" || path.startsWith("lib/");
}

/** `folder` is a daemon's folder. */
export async function runtimeLayer(folder: string): Promise<Archive> {
  const entries = (await entriesBelow(folder, "")).filter(({ path }) => isOfRuntime(path));
  return () => packEntries(entries);
}
