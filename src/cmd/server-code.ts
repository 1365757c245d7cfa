/** What V8 is told about the code and the memory of a server; short commands leave it as it is (ADR 53). */
import { setFlagsFromString } from "node:v8";

export const serverFlags: readonly string[] = [
  // A function becomes fast after 400 calls, and 500 after the last surprise. A create passes through most of its code once, so a
  // server that was just started pays half as much again for each of its first hundreds of creates.
  "--invocation-count-for-maglev=100",
  "--minimum-invocations-after-ic-update=100",
  // Who is idle is collected until hardly anything is free, and then in the middle of the next burst. It may be twice what it holds.
  "--heap-growing-percent=100",
];

/** For this process, from now on. */
export function prepareServerCode(): void {
  for (const flag of serverFlags) setFlagsFromString(flag);
}
