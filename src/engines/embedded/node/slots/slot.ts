import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bindMount, removeMountPoint } from "#engines/embedded/node/linux/mounts.ts";
import { sandboxIdMap, withNewNamespaces } from "#engines/embedded/node/linux/namespaces.ts";
import { hasCode } from "#lib/native/files.ts";
import type { SandboxNetwork } from "#engines/embedded/node/network/sandbox-network.ts";
import { firstId } from "#engines/embedded/node/network/range-claim.ts";

/** A place for one pod: an address on the bridge, and a user and a network namespace that nobody has used before. */
export interface Slot {
  readonly index: number;
  readonly ip: string;
  /** The user outside that is root inside. */
  readonly firstUid: number;
  /** Files that hold the namespaces while no process of the pod does. */
  readonly userNamespace: string;
  readonly networkNamespace: string;
}

/** What a slot of this number is called; says nothing about whether it exists. */
export function slotAt(folder: string, index: number, network: SandboxNetwork): Slot {
  const home = join(folder, String(index));
  return {
    index,
    ip: network.addressOf(index),
    firstUid: firstId(network.claim, index),
    userNamespace: join(home, "user"),
    networkNamespace: join(home, "net"),
  };
}

/** Makes the slot. Fails with EEXIST, and leaves nothing, while the port of its former use is still going away. */
export async function makeSlot(folder: string, index: number, network: SandboxNetwork): Promise<Slot> {
  const slot = slotAt(folder, index, network);
  mkdirSync(join(folder, String(index)), { recursive: true });
  writeFileSync(slot.userNamespace, "");
  writeFileSync(slot.networkNamespace, "");
  try {
    // The network namespace must belong to the user namespace, or the sandbox could not mount its /sys.
    await withNewNamespaces({ network: true, idMap: sandboxIdMap(slot.firstUid) }, (namespaces) => {
      bindMount(join(namespaces, "user"), slot.userNamespace);
      bindMount(join(namespaces, "net"), slot.networkNamespace);
    });
    await network.connect(index, slot.networkNamespace);
  } catch (error) {
    removeSlot(folder, index);
    throw error;
  }
  return slot;
}

/** Lets go of the namespaces; the kernel removes them, and with them the port, as soon as the last process is gone too. */
export function removeSlot(folder: string, index: number): void {
  const home = join(folder, String(index));
  for (const file of ["net", "user"]) removeMountPoint(join(home, file));
  rmSync(home, { recursive: true, force: true });
}

/** Numbers of the slots that are there, whole or in part. */
export function existingSlots(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}
