import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { CredentialCache, readPlainCredentials, type Credentials } from "./credentials.ts";

/** Hands out what the test sets, and counts. */
class Source {
  reads = 0;
  fresh = 0;
  answer: Credentials | Error = { headers: { authorization: "Bearer one" }, tls: { ca: "ca" } };

  readonly read = async (fresh: boolean): Promise<Credentials> => {
    this.reads++;
    if (fresh) this.fresh++;
    if (this.answer instanceof Error) throw this.answer;
    return this.answer;
  };
}

describe("held credentials", () => {
  test("are read once, by however many ask at the same time", async () => {
    const source = new Source();
    const cache = new CredentialCache(source.read, { clock: new SteppedClock() });
    await Promise.all([cache.current(), cache.current()]);
    await cache.current();
    expect(source.reads).toBe(1);
  });

  test("are read again when they have become old", async () => {
    const source = new Source();
    const clock = new SteppedClock();
    const cache = new CredentialCache(source.read, { clock, rereadMs: 60_000 });
    await cache.current();
    source.answer = { headers: { authorization: "Bearer two" }, tls: { ca: "ca" } };
    await clock.step(59_999);
    expect((await cache.current()).headers).toEqual({ authorization: "Bearer one" });
    await clock.step(1);
    expect((await cache.current()).headers).toEqual({ authorization: "Bearer two" });
    expect(source.reads).toBe(2);
  });

  test("stay in use while they cannot be read again", async () => {
    const source = new Source();
    const clock = new SteppedClock();
    const cache = new CredentialCache(source.read, { clock, rereadMs: 1000 });
    await cache.current();
    source.answer = new Error("the file is being replaced");
    await clock.step(1000);
    expect((await cache.current()).headers).toEqual({ authorization: "Bearer one" });
    await cache.current();
    expect(source.reads).toBe(2);
  });

  test("that could never be read fail whoever asks, each time anew", async () => {
    const source = new Source();
    source.answer = new Error("no such file");
    const cache = new CredentialCache(source.read, { clock: new SteppedClock() });
    await expect(cache.current()).rejects.toThrow("no such file");
    await expect(cache.current()).rejects.toThrow("no such file");
    expect(source.reads).toBe(2);
  });

  test("are renewed once for all requests that were refused with them", async () => {
    const source = new Source();
    const cache = new CredentialCache(source.read, { clock: new SteppedClock() });
    const old = await cache.current();
    source.answer = { headers: { authorization: "Bearer two" }, tls: { ca: "ca" } };
    const [first, second] = await Promise.all([cache.renew(old), cache.renew(old)]);
    const late = await cache.renew(old);
    expect([first, second, late].map((got) => got.headers["authorization"])).toEqual(["Bearer two", "Bearer two", "Bearer two"]);
    expect([source.reads, source.fresh]).toEqual([2, 1]);
  });

  test("keep the very same certificates while these do not change, so that connections are kept", async () => {
    const source = new Source();
    const cache = new CredentialCache(source.read, { clock: new SteppedClock() });
    const first = await cache.current();
    source.answer = { headers: {}, tls: { ca: "ca" } };
    const second = await cache.renew(first);
    expect(second.tls).toBe(first.tls);
    source.answer = { headers: {}, tls: { ca: "other" } };
    expect((await cache.renew(second)).tls).not.toBe(first.tls);
  });
});

describe("credentials in texts and files", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "agentbox-credentials-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("a token file's line end is no part of the token", async () => {
    const file = join(folder, "token");
    await writeFile(file, "secret\n");
    expect((await readPlainCredentials({ token: { file } })).headers).toEqual({ authorization: "Bearer secret" });
  });

  test("a token goes before a password; an empty one does not count", async () => {
    const basic = { username: "ann", password: "p:w" };
    expect((await readPlainCredentials({ token: { text: "t" }, basic })).headers).toEqual({ authorization: "Bearer t" });
    expect((await readPlainCredentials({ token: { text: "" }, basic })).headers).toEqual({
      authorization: `Basic ${Buffer.from("ann:p:w").toString("base64")}`,
    });
  });

  test("certificates come from where they are, and nothing else is set", async () => {
    const file = join(folder, "client.key");
    await writeFile(file, "KEY");
    const { headers, tls } = await readPlainCredentials({ ca: { text: "CA" }, cert: { text: "CERT" }, key: { file } });
    expect({ headers, tls }).toEqual({ headers: {}, tls: { ca: "CA", cert: "CERT", key: "KEY" } });
    expect((await readPlainCredentials({ servername: "api", insecure: true })).tls).toEqual({
      servername: "api",
      rejectUnauthorized: false,
    });
  });
});
