/** Which of our two encodings a client prefers; undefined: it takes neither. */
export function chosenEncoding(header = ""): "gzip" | "identity" | undefined {
  const weights = new Map(header.split(",").flatMap(weightOf));
  const any = weights.get("*");
  const gzip = weights.get("gzip") ?? any ?? 0;
  const identity = weights.get("identity") ?? (any === 0 ? 0 : undefined);
  if (gzip > 0 && gzip >= (identity ?? 0)) return "gzip";
  return identity === 0 ? undefined : "identity";
}

function weightOf(item: string): [string, number][] {
  const [name = "", ...parameters] = item.split(";").map((text) => text.trim().toLowerCase());
  if (name === "") return [];
  const weight = parameters.find((text) => text.startsWith("q="));
  return [[name, weight === undefined ? 1 : Number(weight.slice(2)) || 0]];
}
