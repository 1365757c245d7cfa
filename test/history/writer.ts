/**
 * A process that puts records, to be run many times at once and killed at any instant:
 *   node test/history/writer.ts LOCATION NAME FROM COUNT
 * puts the sandboxes s<FROM>, s<FROM+1>, … in an order of its own, each with an end that bears its name, and tells for each, when the
 * put is done, which end the history then has. Only what was told counts as acknowledged.
 */
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { openHistory } from "#store/open-history.ts";
import { aRecord, at } from "./records.ts";

const [location = "", name = "", from = "0", count = "0"] = process.argv.slice(2);
const history = await openHistory({ location, clock: systemClock, log: openLog({ clock: systemClock, out: process.stderr }) });
console.log("ready");
const numbers = Array.from({ length: Number(count) }, (_, index) => Number(from) + index);
// Neighbours meet on the same sandboxes, but not always in the same order.
if (name.charCodeAt(name.length - 1) % 2 === 1) numbers.reverse();
for (const number of numbers) {
  const sandboxId = `s${number}`;
  const record = aRecord(sandboxId, { status: "Failed", stopReason: "Failed", failureReason: name, claimedAt: at(0, number) });
  await history.put({ ...record, metadata: { number: String(number), [`by-${name}`]: "yes" } });
  const stored = await history.get(sandboxId, { kind: "admin" });
  console.log(`${sandboxId} ${stored?.failureReason}`);
}
await history.close();
