import { expect, test } from "vitest";
import { seededRandom } from "../world/seeded-random.ts";
import { openFaultyProxy } from "./faulty-proxy.ts";
import { verdictOf } from "./verdict.ts";

const record = (sandboxId: string, number: number, status = "Completed", [claimedAt, terminatedAt] = ["01", "02"]) => ({
  sandboxId,
  status,
  metadata: { number: String(number) },
  claimedAt,
  terminatedAt,
});

test("one sandbox for each create, known to the SDK and ended, is a good end", () => {
  const told = [0, 1].map((number) => ({ number, id: `s${number}` }));
  expect(verdictOf(2, told, [record("s0", 0), record("s1", 1)])).toEqual({ duplicates: [], lost: [], left: [] });
});

test("a second sandbox of one create, one that the server does not know, and one that lives are found", () => {
  const told = [
    { number: 0, id: "s0" },
    { number: 1, id: "s9" },
    { number: 2, error: "refused" },
  ];
  const verdict = verdictOf(4, told, [record("s0", 0), record("s5", 0), record("s1", 1, "Running")]);
  expect(verdict.duplicates).toEqual(["create 0 made s0, s5"]);
  expect(verdict.lost).toEqual([
    "create 1 was told s9, which the server does not know",
    "create 2 was never answered: refused",
    "create 3 was never answered: it was not tried",
  ]);
  expect(verdict.left).toEqual(["s1 is Running"]);
});

test("a sandbox that was given back before the next one was claimed is no duplicate, and one that lived beside it is", () => {
  const told = [{ number: 0, id: "s1" }];
  const second = record("s1", 0, "Completed", ["03", "04"]);
  expect(verdictOf(1, told, [record("s0", 0, "Canceled", ["01", "02"]), second]).duplicates).toEqual([]);
  expect(verdictOf(1, told, [record("s0", 0, "Canceled", ["01", "05"]), second]).duplicates).toEqual(["create 0 made s0, s1"]);
});

test("the proxy breaks as many requests as it is told, the same ones for the same seed, and passes the others on", async () => {
  await using whole = await openFaultyProxy("http://127.0.0.1:1", 0, seededRandom(1));
  const refused = await fetch(whole.url).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Error);

  const seen = async (): Promise<readonly string[]> => {
    await using target = await openFaultyProxy("http://127.0.0.1:1", 1, () => 0);
    await using proxy = await openFaultyProxy(target.url, 0.5, seededRandom(7));
    const answers: string[] = [];
    for (let at = 0; at < 30; at++)
      answers.push(
        await fetch(proxy.url).then(
          ({ status }) => String(status),
          () => "cut",
        ),
      );
    expect([...proxy.done.values()].reduce((sum, times) => sum + times, 0)).toBe(30);
    return answers;
  };
  const first = await seen();
  expect(first).toEqual(await seen());
  expect(new Set(first)).toEqual(new Set(["502", "cut"]));
});
