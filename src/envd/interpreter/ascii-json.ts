/**
 * JSON with letters beyond ASCII as escapes: the SDKs decode what they read piece by piece, and would spoil a letter that lies in two
 * pieces. Pure.
 */

const beyondAscii = /[\u0080-\uffff]/;
const digits = Buffer.from("0123456789abcdef");
const [backslash, u] = [0x5c, 0x75];
const longestEscape = 6;

/** On a line of its own. Byte by byte, because a daemon must not stand still for seconds over some megabytes of such letters. */
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
