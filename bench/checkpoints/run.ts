/**
 * `make bench-checkpoints`: snapshots and forks of sandboxes that have changed 0, 10, 100 and 1,000 MB, on a fresh `agentbox up` with real containers,
 * beside `cp -a` and `tar` of the same files in the same run. How long a sandbox stood still is told by a program in it that notes the longest gap.
 *   --sizes 0,10    in MB        --forks N    children at once (default 10)
 */
import { mkdtemp, rm } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { UpProcess } from "../../test/world/up-process.ts";
import { percentile, type Row, table } from "../lib/measure.ts";

const { values: args } = parseArgs({
  options: {
    sizes: { type: "string", default: "0,10,100,1000" },
    forks: { type: "string", default: "10" },
    rounds: { type: "string", default: "5" },
  },
});
const sizes = args.sizes.split(",").map(Number);
const [forks, rounds] = [Number(args.forks), Number(args.rounds)];
const say = (text: string): void => console.error(`  ${text} …`);

/** Notes the longest time in which it did not run, and begins anew when it is asked to. */
const gaps = `
import os, time
longest, last = 0, time.monotonic()
while True:
    time.sleep(0.001)
    now = time.monotonic()
    longest, last = max(longest, now - last), now
    if os.path.exists("/tmp/reset"):
        os.remove("/tmp/reset"); longest, last = 0, time.monotonic()
    with open("/tmp/gap.new", "w") as file: file.write(str(longest))
    os.rename("/tmp/gap.new", "/tmp/gap")
`;

await using up = await UpProcess.onNewFolder();
await up.start();
const client = new AgentBoxClient(await up.access());

async function run(id: string, command: readonly string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await client.sandboxes.exec(id, { command: [...command], timeout: "5m" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
  return stdout;
}

async function timed<T>(work: () => Promise<T> | T): Promise<readonly [ms: number, result: T]> {
  const began = performance.now();
  const result = await work();
  return [performance.now() - began, result];
}

const make = (poolName: string) => client.sandboxes.create({ poolName, lifetime: "30m" });

async function longestGap(id: string): Promise<number> {
  return Number(await run(id, ["cat", "/tmp/gap"])) * 1000;
}

/** The same files on the machine's own disk. */
async function floors(megabytes: number): Promise<Readonly<Record<string, number>>> {
  const folder = await mkdtemp(join(up.home, "floor-"));
  const shell = (command: string): void => void execFileSync("sh", ["-c", command], { cwd: folder });
  shell(`mkdir tree; [ ${megabytes} -eq 0 ] || for n in $(seq 10); do head -c ${megabytes * 100_000} /dev/urandom > tree/$n; done`);
  const [cp] = await timed(() => shell("cp -a tree copy"));
  const [tar] = await timed(() => shell("tar c tree > tree.tar"));
  await rm(folder, { recursive: true });
  return { cp, tar };
}

async function round(megabytes: number): Promise<Row> {
  say(`${megabytes} MB`);
  const { sandbox } = await make("base");
  const id = sandbox.sandboxId;
  if (megabytes > 0) await run(id, ["sh", "-c", `for n in $(seq 10); do head -c ${megabytes * 100_000} /dev/urandom > ~/large-$n; done`]);
  await run(id, ["sh", "-c", `(python3 -c '${gaps}' > /dev/null 2>&1 &)`]);
  const [taken, frozen, made]: [number[], number[], number[]] = [[], [], []];
  const times = megabytes >= 1000 ? 2 : rounds;
  let usual = 0;
  for (let n = 0; n < times; n++) {
    await run(id, ["sh", "-c", "touch /tmp/reset; sleep 1"]);
    usual = await longestGap(id);
    const [ms, checkpoint] = await timed(() => client.checkpoints.take(id, {}));
    taken.push(ms);
    frozen.push(await longestGap(id));
    const [createMs, child] = await timed(() => make(checkpoint.id));
    made.push(createMs);
    await client.sandboxes.end(child.sandbox.sandboxId);
    await client.checkpoints.delete(checkpoint.id);
  }
  const [oneFork, one] = await timed(() => client.checkpoints.fork(id, { count: 1 }));
  const [manyForks, many] =
    megabytes > 100 ? [Number.NaN, { sandboxes: [], failures: [] }] : await timed(() => client.checkpoints.fork(id, { count: forks }));
  for (const { message } of [...one.failures, ...many.failures]) console.error(`  ${message}`);
  for (const child of [...one.sandboxes, ...many.sandboxes]) await client.sandboxes.end(child.sandbox.sandboxId);
  await client.sandboxes.end(id);
  const { cp = 0, tar = 0 } = await floors(megabytes);
  const p50 = (all: readonly number[]): string =>
    percentile(
      [...all].sort((a, b) => a - b),
      0.5,
    ).toFixed(0);
  return {
    what: `${megabytes} MB`,
    values: {
      "stood still": p50(frozen),
      "usual gap": usual.toFixed(0),
      taken: p50(taken),
      "create from it": p50(made),
      fork: oneFork.toFixed(0),
      [`fork ×${forks}`]: Number.isNaN(manyForks) ? "–" : manyForks.toFixed(0),
      "cp -a": cp.toFixed(0),
      tar: tar.toFixed(0),
    },
  };
}

async function creates(): Promise<string> {
  const all: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const [ms, { sandbox }] = await timed(() => make("base"));
    all.push(ms);
    await client.sandboxes.end(sandbox.sandboxId);
  }
  return percentile(
    all.sort((a, b) => a - b),
    0.5,
  ).toFixed(0);
}

say("plain creates");
const plain = await creates();
const rows: Row[] = [];
for (const size of sizes) rows.push(await round(size));
console.log(`milliseconds, median; a create where the image waits: ${plain}`);
console.log(table(Object.keys(rows[0]?.values ?? {}), rows));
