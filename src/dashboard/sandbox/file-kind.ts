/** How a file can be shown. Pure. */
export type FileKind = "text" | "picture" | "bytes";

const longestText = 2 * 1024 * 1024;

/** SVG is shown as text, because it can contain scripts. */
export function fileKindOf(path: string, bytes: Uint8Array): FileKind {
  if (/\.(png|jpe?g|gif|webp|bmp|avif)$/i.test(path)) return "picture";
  if (bytes.length > longestText) return "bytes";
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? "bytes" : "text";
  } catch {
    return "bytes";
  }
}
