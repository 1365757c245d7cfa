/**
 * What part of the machine's one table of connections each sandbox may fill. All sandboxes that the machine can carry, each with its whole
 * share, leave the machine its own part: however many of them work together, the gateway and the machine's other programs go on.
 */

/** Of each sandbox, in each direction. */
export interface ConnectionShare {
  /** Connections that are open at once. */
  readonly open: number;
  readonly newPerSecond: number;
  /** So many new ones may come at once. */
  readonly newAtOnce: number;
}

/** A closed connection is remembered for so long. The kernel does not count it as open. */
export const rememberedSeconds = 3;

/** More than any sandbox needs. On a machine with room, the share is this. */
const fullShare: ConnectionShare = { open: 4096, newPerSecond: 200, newAtOnce: 2000 };
/** With less a sandbox cannot work: a machine whose table is too small for this may have it filled. */
const leastShare: ConnectionShare = { open: 128, newPerSecond: 20, newAtOnce: 60 };

/** What is left to the machine. */
export const entriesOfMachine = 65_536;
/** What the kernel's table has room for by default on usual machines. */
const usualEntries = 262_144;

/** The kernel takes up to 320 bytes for an entry. A full table takes no more than this part of the machine's memory. */
const bytesPerEntry = 320;
const partOfMemory = 1 / 16;
/** A sandbox that does anything takes more: a machine carries no more sandboxes than this, however many places for pods it has. */
const leastSandboxBytes = 16 * 2 ** 20;

export interface TableRoom {
  readonly slots: number;
  readonly memoryBytes: number;
}

/** How large the kernel's table is to be. */
export function wantedEntries(room: TableRoom): number {
  const full = sandboxesOf(room) * worstOf(fullShare);
  const affordable = Math.floor((room.memoryBytes * partOfMemory) / bytesPerEntry);
  return Math.max(usualEntries, Math.min(entriesOfMachine + full, affordable));
}

/** The share of each sandbox in a table of this size. */
export function connectionShare(entries: number, room: TableRoom): ConnectionShare {
  const inDirection = Math.floor((entries - entriesOfMachine) / sandboxesOf(room) / 2);
  const newPerSecond = Math.min(fullShare.newPerSecond, Math.floor(inDirection / 4 / rememberedSeconds));
  const rest = inDirection - newPerSecond * rememberedSeconds;
  const newAtOnce = Math.min(fullShare.newAtOnce, Math.floor(rest / 3));
  const open = Math.min(fullShare.open, rest - newAtOnce);
  return isLess({ open, newPerSecond, newAtOnce }, leastShare) ? leastShare : { open, newPerSecond, newAtOnce };
}

/** What all sandboxes together can take of the table. */
export function entriesOfAll(share: ConnectionShare, room: TableRoom): number {
  return sandboxesOf(room) * worstOf(share);
}

/** Open and remembered ones, in both directions. */
function worstOf({ open, newPerSecond, newAtOnce }: ConnectionShare): number {
  return 2 * (open + newAtOnce + newPerSecond * rememberedSeconds);
}

function sandboxesOf({ slots, memoryBytes }: TableRoom): number {
  return Math.max(1, Math.min(slots, Math.floor(memoryBytes / leastSandboxBytes)));
}

function isLess(share: ConnectionShare, least: ConnectionShare): boolean {
  return share.open < least.open || share.newPerSecond < least.newPerSecond || share.newAtOnce < least.newAtOnce;
}
