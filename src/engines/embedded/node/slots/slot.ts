import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bindMount, removeMountPoint } from "#engines/embedded/node/linux/mounts.ts";
import { sandboxIdMap, withNewNamespaces } from "#engines/embedded/node/linux/namespaces.ts";
import { hasCode } from "#lib/native/files.ts";
import type { SandboxNetwork } from "#engines/embedded/node/network/sandbox-network.ts";
import { firstId } from "#engines/embedded/node/network/range-claim.ts";

/** A place for one pod: an address on the bridge, and new, never used user and network namespaces. */
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
export function makeSlot(folder: string, index: number, network: SandboxNetwork): Promise<Slot> {
  return makeAfter(Promise.resolve(), folder, index, network);
}

/** Exchanges the namespaces of a slot for new ones. Its address, its ids and the name of its port stay. May be repeated. */
export async function renewSlot(folder: string, index: number, network: SandboxNetwork): Promise<void> {
  removeSlot(folder, index);
  // The kernel would remove the port too, in its own time; the new one has the same name.
  await makeAfter(network.disconnect(index), folder, index, network);
}

/** `portGone`: what has to be over before the slot can be given its port. */
async function makeAfter(portGone: Promise<void>, folder: string, index: number, network: SandboxNetwork): Promise<Slot> {
  const slot = slotAt(folder, index, network);
  try {
    await Promise.all([makeNamespaces(join(folder, String(index)), slot), portGone]);
    await network.connect(index, slot.networkNamespace);
  } catch (error) {
    removeSlot(folder, index);
    throw error;
  }
  return slot;
}

async function makeNamespaces(home: string, slot: Slot): Promise<void> {
  mkdirSync(home, { recursive: true });
  writeFileSync(slot.userNamespace, "");
  writeFileSync(slot.networkNamespace, "");
  // The network namespace must belong to the user namespace, or the sandbox could not mount its /sys. The user namespace
  // must belong to the slot's own user: as root's, its sandbox would share the kernel's quotas with all others and the machine.
  await withNewNamespaces({ network: true, idMap: sandboxIdMap(slot.firstUid), owner: slot.firstUid }, (namespaces) => {
    bindMount(join(namespaces, "user"), slot.userNamespace);
    bindMount(join(namespaces, "net"), slot.networkNamespace);
  });
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
