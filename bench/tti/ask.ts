/** A program with E2B's SDK, as a user writes it: a sandbox, a command, its output. In a process of its own; started by run.ts. */
import type { Sdk } from "../../test/conformance/sdk.ts";
import { jsModule } from "../../test/conformance/install.ts";
import type { Asked, Order } from "./orders.ts";

const { Sandbox } = (await import(jsModule("2.51.0"))) as Sdk;

async function one({ again = false }: Order): Promise<Asked> {
  const since = performance.now();
  const sandbox = await Sandbox.create({ timeoutMs: 300_000 });
  const createdMs = performance.now() - since;
  const { stdout } = await sandbox.commands.run("echo hello");
  if (stdout !== "hello\n") throw new Error(`the command said ${JSON.stringify(stdout)}`);
  const totalMs = performance.now() - since;
  if (again) await sandbox.commands.run("echo hello");
  return { kind: "ran", sandboxId: sandbox.sandboxId, createdMs, totalMs, againMs: performance.now() - since - totalMs };
}

async function tried(order: Order): Promise<Asked> {
  try {
    return await one(order);
  } catch (error) {
    return { kind: "failed", why: error instanceof Error ? error.message : String(error) };
  }
}

async function run(order: Order): Promise<readonly Asked[]> {
  if (order.everyMs === undefined) {
    const asked: Asked[] = [];
    for (let index = 0; index < order.count; index++) asked.push(await tried(order));
    return asked;
  }
  const under: Promise<Asked>[] = [];
  const began = performance.now();
  for (let index = 0; index < order.count; index++) {
    const due = began + index * order.everyMs;
    if (performance.now() < due) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    under.push(tried(order));
  }
  return Promise.all(under);
}

process.on("disconnect", () => process.exit(0));
process.on("message", (order: Order) => void run(order).then((asked) => process.send?.(asked)));
process.send?.("loaded");
