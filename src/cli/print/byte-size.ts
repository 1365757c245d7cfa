const units = ["B", "kB", "MB", "GB", "TB"] as const;

/** A size in three figures, in steps of a thousand: `0B`, `999B`, `1.5kB`, `23.4MB`, `105GB`. */
export function byteSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // Otherwise 999.95 would be printed as 1000.
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits).replace(/\.0$/, "")}${units[unit] ?? ""}`;
}

const factors: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  ki: 1024,
  m: 1e6,
  mb: 1e6,
  mi: 1024 ** 2,
  g: 1e9,
  gb: 1e9,
  gi: 1024 ** 3,
  t: 1e12,
  tb: 1e12,
  ti: 1024 ** 4,
};

/** Reads `10GB`, `512Mi`, `1.5g`, `1000`; undefined if it is no size. */
export function parseByteSize(text: string): number | undefined {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)\s*([a-zA-Z]*)$/.exec(text) ?? [];
  const factor = factors[unit.toLowerCase().replace(/^([kmgt])ib$/, "$1i")];
  return number === "" || factor === undefined ? undefined : Math.floor(Number(number) * factor);
}
