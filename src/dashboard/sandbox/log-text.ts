/** A line as it can be read: without the codes that colour a terminal, and other characters that are none. Pure. */
export function plainLine(line: string): string {
  return line.replaceAll(/\p{Cc}\[[\d;?]*[A-Za-z]/gu, "").replaceAll(/(?!\t)\p{Cc}/gu, "");
}
