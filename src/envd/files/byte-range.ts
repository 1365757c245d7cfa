export interface ByteRange {
  readonly start: number;
  /** The last byte that belongs to it. */
  readonly end: number;
}

/** The one range that is asked for. "all": none, or what we do not understand, which may be ignored; "none": it lies outside. */
export function byteRange(header: string, size: number): ByteRange | "all" | "none" {
  const [, first, last] = /^bytes=(?!-$)(\d{0,15})-(\d{0,15})$/.exec(header.replaceAll(/\s/g, "")) ?? [];
  if (first === undefined || last === undefined) return "all";
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "none" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (start >= size) return "none";
  return end < start ? "all" : { start, end };
}
