/** Cleans a log line: removes terminal colour codes and other control characters. Pure. */
export function plainLine(line: string): string {
  return line.replaceAll(/\p{Cc}\[[\d;?]*[A-Za-z]/gu, "").replaceAll(/(?!\t)\p{Cc}/gu, "");
}
