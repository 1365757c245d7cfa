/** A node in a process of its own, for tests that kill it: `run.ts <home>`. Says when it works, and runs until it is killed. */
import { join } from "node:path";
import { Registry } from "prom-client";
import { startEmbeddedNode } from "../../../src/cmd/machine/embedded-node.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { type Pod, Pods } from "#model/pod.ts";

const [home = ""] = process.argv.slice(2);
const log = openLog({ clock: systemClock, out: process.stderr });
const store = openObjectStore({ file: join(home, "objects.db"), kinds: embeddedKindRules(), clock: systemClock });
await startEmbeddedNode({
  home,
  store,
  clock: systemClock,
  log,
  metrics: prometheusMetrics(new Registry()),
  publicKey: Buffer.alloc(32).toString("base64"),
});

/** Every change of a pod as one line: what the test waits for. */
for await (const event of store.watch<Pod>(Pods)) {
  if (event.type !== "BOOKMARK")
    process.stdout.write(`${JSON.stringify({ type: event.type, name: event.object.metadata.name, status: event.object.status })}\n`);
}
