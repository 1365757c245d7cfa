/** Writes tar archives in the POSIX form: a plain header, preceded by an extended one when something does not fit into it. */
import { encodePax, xattrPrefix } from "./pax.ts";
import { blockSize, encodeHeader, fitsHeader, type TarEntry } from "./tar-header.ts";

/** What comes before an entry's content. */
export function tarHeader(entry: TarEntry): Buffer {
  const records = paxRecords(entry);
  const plain = encodeHeader(entry);
  if (records.size === 0) return plain;
  const data = encodePax(records);
  const described = { name: "PaxHeaders/entry", linkName: "", mode: 0o644, uid: 0, gid: 0, mtime: 0, devMajor: 0, devMinor: 0 };
  const header = encodeHeader({ ...described, type: "pax", size: data.length });
  return Buffer.concat([header, data, tarPadding(data.length), plain]);
}

/** What comes after `size` bytes of content, to fill the last block. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((blockSize - (size % blockSize)) % blockSize);
}

export const tarEnd: Buffer = Buffer.alloc(2 * blockSize);

function paxRecords(entry: TarEntry): Map<string, Buffer> {
  const fits = fitsHeader(entry);
  const records = new Map<string, Buffer>();
  if (!fits.name) records.set("path", Buffer.from(entry.name, "latin1"));
  if (!fits.linkName) records.set("linkpath", Buffer.from(entry.linkName, "latin1"));
  if (!fits.size) records.set("size", Buffer.from(String(entry.size)));
  if (!fits.uid) records.set("uid", Buffer.from(String(entry.uid)));
  if (!fits.gid) records.set("gid", Buffer.from(String(entry.gid)));
  if (!fits.mtime) records.set("mtime", Buffer.from(String(entry.mtime)));
  for (const [name, value] of entry.xattrs) records.set(`${xattrPrefix}${name}`, value);
  return records;
}
