import { expect, test } from "vitest";
import { Once, type Reply } from "./once.ts";

const reply = (body = ""): Reply => ({ status: 200, body });
const megabyte = 1024 * 1024;

test("a request that is asked again while it runs is not run again, however much is answered meanwhile", async () => {
  const once = new Once();
  const running = Promise.withResolvers<Reply>();
  let runs = 0;
  const ask = () =>
    once.answer("long", () => {
      runs += 1;
      return running.promise;
    });
  const first = ask();
  for (let n = 0; n < 1100; n++) await once.answer(`short ${n}`, async () => reply());
  for (let n = 0; n < 40; n++) await once.answer(`large ${n}`, async () => reply("x".repeat(megabyte)));
  const second = ask();
  running.resolve(reply("done"));
  expect([await first, await second, runs]).toEqual([reply("done"), reply("done"), 1]);
});

test("what large answers took is free again when they are forgotten", async () => {
  const once = new Once();
  for (let n = 0; n < 100; n++) await once.answer(`large ${n}`, async () => reply("x".repeat(megabyte)));
  await once.answer("last", async () => reply("first time"));
  expect(await once.answer("last", async () => reply("second time"))).toEqual(reply("first time"));
});
