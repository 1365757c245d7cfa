/** Extended headers of POSIX (pax): records `LENGTH key=value\n` that overrule the plain header after them. */
import { ImageError } from "../image-error.ts";

/** Values are bytes: file capabilities, for one, are not text. */
export type PaxRecords = ReadonlyMap<string, Buffer>;

export const xattrPrefix = "SCHILY.xattr.";

export function parsePax(data: Buffer): PaxRecords {
  const records = new Map<string, Buffer>();
  let at = 0;
  while (at < data.length) {
    // Some writers pad the last block's worth with zeros.
    if (data[at] === 0) break;
    const space = data.indexOf(0x20, at);
    const length = space === -1 ? Number.NaN : decimal(data.toString("latin1", at, space));
    const end = at + length;
    const equals = data.indexOf(0x3d, space);
    if (!(end <= data.length) || data[end - 1] !== 0x0a || equals === -1 || equals >= end) {
      throw new ImageError("broken_content", "the archive is damaged: an extended header is not a list of records");
    }
    records.set(data.toString("utf8", space + 1, equals), data.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}

export function encodePax(records: PaxRecords): Buffer {
  const lines: Buffer[] = [];
  for (const [key, value] of records) {
    const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from("\n")]);
    // The length counts its own digits.
    let length = rest.length + 1;
    while (String(length).length + rest.length > length) length++;
    lines.push(Buffer.from(String(length)), rest);
  }
  return Buffer.concat(lines);
}

/** A record that holds a number, or the plain header's number if there is no such record. */
export function paxNumber(records: PaxRecords, key: string, plain: number): number {
  const value = records.get(key);
  if (value === undefined) return plain;
  const number = Number(value.toString("latin1"));
  if (value.length > 0 && Number.isFinite(number)) return number;
  throw new ImageError("broken_content", `the archive is damaged: ${key} is ${JSON.stringify(value.toString())}, not a number`);
}

/** A record that holds a name, as latin1. */
export function paxName(records: PaxRecords, key: string): string | undefined {
  return records.get(key)?.toString("latin1");
}

function decimal(text: string): number {
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
}
