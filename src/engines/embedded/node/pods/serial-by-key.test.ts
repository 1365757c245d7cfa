import { expect, test } from "vitest";
import { SerialByKey } from "./serial-by-key.ts";

function slowly(order: string[], name: string, error?: Error): () => Promise<string> {
  return async () => {
    order.push(`${name}+`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`${name}-`);
    if (error !== undefined) throw error;
    return name;
  };
}

test("work with one key is done one after another, in order; another key does not wait", async () => {
  const serial = new SerialByKey();
  const order: string[] = [];
  const done = await Promise.all([
    serial.run("a", slowly(order, "1")),
    serial.run("a", slowly(order, "2")),
    serial.run("b", slowly(order, "3")),
  ]);
  expect(done).toEqual(["1", "2", "3"]);
  expect(order.slice(0, 3)).toEqual(["1+", "3+", "1-"]);
  expect(order.indexOf("2+")).toBeGreaterThan(order.indexOf("1-"));
});

test("a failure is its caller's and keeps nobody from his turn", async () => {
  const serial = new SerialByKey();
  const order: string[] = [];
  const first = serial.run("a", slowly(order, "1", new Error("no")));
  const second = serial.run("a", slowly(order, "2"));
  await expect(first).rejects.toThrow("no");
  expect(await second).toBe("2");
});

test("idle is when everything is over, what came meanwhile too", async () => {
  const serial = new SerialByKey();
  const order: string[] = [];
  await serial.idle();
  void serial.run("a", async () => {
    await slowly(order, "1")();
    void serial.run("b", slowly(order, "2"));
  });
  await serial.idle();
  expect(order).toEqual(["1+", "1-", "2+", "2-"]);
});
