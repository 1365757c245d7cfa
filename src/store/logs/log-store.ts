/**
 * The port to the logs of ended sandboxes: the compressed end of what the first container of each wrote. They are in the database of the history, in a table
 * of their own, and are kept for a shorter time than records.
 *
 * Rules that both databases keep, and test/history checks on both:
 * - L1: what is outside the scope is as if it did not exist (I8).
 * - L2: `trim` removes only the oldest logs of one team.
 */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { HistoryScope } from "../history-store.ts";

export interface EndedLog {
  readonly sandboxId: string;
  readonly team: string;
  readonly user: string;
  readonly container: string;
  readonly keptAt: string;
  /** The beginning is missing. */
  readonly truncated: boolean;
  readonly text: Buffer;
}

export interface LogStore {
  /** Replaces an earlier log of the same sandbox. */
  put(log: EndedLog): Promise<void>;

  get(sandboxId: string, scope: HistoryScope): Promise<EndedLog | undefined>;

  /** Removes logs that were kept before this moment, at most `limit` at once. Resolves with how many went. */
  prune(request: { readonly olderThan: string; readonly limit: number }): Promise<number>;

  /** Removes the oldest logs of the team until the rest takes no more than so many bytes. */
  trim(team: string, keepBytes: number): Promise<void>;
}

/** A row takes at least one page of the database. */
const leastBytes = 4096;
/** Far above what is kept: a row that another program wrote must not fill the memory. */
const mostBytes = 256 * 1024 * 1024;

export async function packed(text: Buffer): Promise<{ readonly data: Buffer; readonly bytes: number }> {
  const data = await promisify(gzip)(text);
  return { data, bytes: Math.max(leastBytes, data.length) };
}

export async function unpacked(data: Uint8Array): Promise<Buffer> {
  return promisify(gunzip)(data, { maxOutputLength: mostBytes });
}
