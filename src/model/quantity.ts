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
  const parts = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([KMGTPE]i|[numkMGTPE]?)|[eE]([+-]?\d+))$/.exec(String(quantity ?? ""));
  if (parts === null) return undefined;
  const [, number, suffix = "", exponent] = parts;
  return Number(number) * (exponent === undefined ? (quantityFactors[suffix] ?? 1) : 10 ** Number(exponent));
}
