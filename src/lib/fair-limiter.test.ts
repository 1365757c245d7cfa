import { expect, test } from "vitest";
import { FairLimiter } from "./fair-limiter.ts";

/** Work that runs until it is told to end. */
class Scene {
  readonly running: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly #limiter: FairLimiter;

  constructor(most: number) {
    this.#limiter = new FairLimiter(most);
  }

  start(...names: readonly string[]): void {
    for (const name of names) {
      const work = (): Promise<void> => {
        this.running.push(name);
        return new Promise((resolve) => this.#ends.set(name, resolve));
      };
      void this.#limiter.run(name.split(" ")[0] ?? "", work);
    }
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    this.running.splice(this.running.indexOf(name), 1);
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("an owner has all places but one, which is for an owner that has none", async () => {
  const scene = new Scene(3);
  scene.start("red 1", "red 2", "red 3", "red 4");
  await settled();
  expect(scene.running).toEqual(["red 1", "red 2"]);
  scene.start("blue 1", "blue 2");
  await settled();
  expect(scene.running).toEqual(["red 1", "red 2", "blue 1"]);
});

test("owners that wait take turns, and each has its own in their order", async () => {
  const scene = new Scene(2);
  scene.start("red 1", "red 2", "red 3", "blue 1", "blue 2");
  await settled();
  expect(scene.running).toEqual(["red 1", "blue 1"]);
  await scene.end("red 1");
  expect(scene.running).toEqual(["blue 1", "red 2"]);
  await scene.end("blue 1");
  expect(scene.running).toEqual(["red 2", "blue 2"]);
});

test("work that fails gives its place back, and one place is for every owner", async () => {
  const limiter = new FairLimiter(1);
  await expect(limiter.run("red", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await limiter.run("red", async () => 1)).toBe(1);
});
