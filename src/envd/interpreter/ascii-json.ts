/**
 * JSON with non-ASCII letters escaped: the SDKs decode their input piece by piece and would break a letter that is split between two pieces. Pure.
 */

const beyondAscii = /[\u0080-\uffff]/;
const digits = Buffer.from("0123456789abcdef");
const [backslash, u] = [0x5c, 0x75];
const longestEscape = 6;

/** One line. Converts byte by byte, because a slower method would block the daemon for seconds on megabytes of such letters. */
export function asciiJson(value: object): string | Buffer {
  const text = `${JSON.stringify(value)}\n`;
  if (!beyondAscii.test(text)) return text;
  const bytes = Buffer.allocUnsafe(text.length * longestEscape);
  let at = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) {
      bytes[at++] = unit;
      continue;
    }
    bytes[at++] = backslash;
    bytes[at++] = u;
    for (let shift = 12; shift >= 0; shift -= 4) bytes[at++] = digits[(unit >> shift) & 15] ?? 0;
  }
  return bytes.subarray(0, at);
}
