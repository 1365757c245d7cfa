/** Quantities of Kubernetes, such as 500m and 512Mi, as numbers. */
export const quantityFactors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** In cores and bytes. Undefined for what is not a quantity. */
export function parseQuantity(quantity: string | number | undefined): number | undefined {
  // Each digit can be read in one way only, so that a long text that is none is seen as that at once.
  const parts = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([KMGTPE]i|[numkMGTPE]?)|[eE]([+-]?\d+))$/.exec(String(quantity ?? ""));
  if (parts === null) return undefined;
  const [, number, suffix = "", exponent] = parts;
  return Number(number) * (exponent === undefined ? (quantityFactors[suffix] ?? 1) : 10 ** Number(exponent));
}

/** A multiple of a quantity, in the unit that it was written in. The quantity has been checked. */
export function multipliedQuantity(quantity: string | number, by: number): string {
  const [, number = "0", unit = ""] = /^([+-]?[\d.]+)(.*)$/.exec(String(quantity)) ?? [];
  // Nine places are what Kubernetes keeps.
  return `${Number((Number(number) * by).toFixed(9))}${unit}`;
}
