import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { CommandNotStarted, type ExecSession, type StartFault } from "#kube/pod-access.ts";
import { ann, failureOf } from "../../../test/world/service-scene.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { runCommand, type RunCommand } from "./run-command.ts";
import type { ExecRequest } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

class Bench {
  readonly clock = new SteppedClock();
  readonly logged = recordedLog();
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exit = Promise.withResolvers<number>();
  readonly gone = new AbortController();
  started: ExecRequest | undefined;
  failure: Error | undefined;

  run(more: Partial<RunCommand> = {}) {
    const { stdin, stdout, stderr } = this;
    const session: ExecSession = { stdin, stdout, stderr, resize: () => {}, signal: () => {}, exitCode: this.exit.promise };
    const exec = async (_caller: unknown, _id: string, request: ExecRequest): Promise<ExecSession> => {
      if (this.failure !== undefined) throw this.failure;
      this.started = request;
      return session;
    };
    const deps = { sandboxes: { exec }, clock: this.clock, log: this.logged.log };
    return runCommand(deps, ann, { sandboxId: "i1", argv: ["sh"], ...more }, this.gone.signal);
  }

  end(code: number): void {
    this.stdout.end();
    this.stderr.end();
    this.exit.resolve(code);
  }
}

test("a command is given its input, and answered with its outputs and exit code", async () => {
  const bench = new Bench();
  const running = bench.run({ stdin: "in", user: "u", workingDir: "/w", env: { A: "b" } });
  bench.stdout.write("out");
  bench.stderr.write("err");
  bench.end(3);
  const { exitCode, stdout, stderr } = await running;
  expect([exitCode, stdout, stderr]).toEqual([3, { bytes: Buffer.from("out"), written: 3 }, { bytes: Buffer.from("err"), written: 3 }]);
  expect(await text(bench.stdin)).toBe("in");
  expect(bench.started).toMatchObject({ argv: ["sh"], user: "u", workingDir: "/w", env: { A: "b" } });
  expect(bench.clock.pending).toBe(0);
});

test("of each output a MiB is kept, and the rest is read, so that the command goes on", async () => {
  const bench = new Bench();
  const running = bench.run();
  const written = (async () => {
    for (let turn = 0; turn < 41; turn++)
      if (!bench.stdout.write("x".repeat(64 * 1024))) await new Promise((go) => bench.stdout.once("drain", go));
    bench.end(0);
  })();
  const result = await running;
  await written;
  expect([result.stdout.bytes.length, result.stdout.written]).toEqual([1024 * 1024, 41 * 64 * 1024]);
});

test("a command that takes too long is ended, and that is what is answered", async () => {
  const bench = new Bench();
  const running = failureOf(bench.run({ timeoutMs: 2000 }));
  await bench.clock.step(1999);
  expect(bench.started?.signal?.aborted).toBe(false);
  await bench.clock.step(1);
  expect(bench.started?.signal?.aborted).toBe(true);
  expect(await running).toMatchObject({ code: "timeout", message: "the command did not end within 2s, and was ended" });
});

test("a sandbox that does not answer is not waited for any longer", async () => {
  const bench = new Bench();
  const sandboxes = { exec: () => new Promise<never>(() => {}) };
  const running = failureOf(
    runCommand({ sandboxes, clock: bench.clock, log: bench.logged.log }, ann, { sandboxId: "i1", argv: ["a"] }, bench.gone.signal),
  );
  await bench.clock.step(30_000);
  expect(await running).toMatchObject({ code: "timeout" });
});

test("whoever goes away ends the command", async () => {
  const bench = new Bench();
  const running = failureOf(bench.run());
  await settle();
  bench.gone.abort(new Error("gone"));
  expect(bench.started?.signal?.aborted).toBe(true);
  expect(await running).toMatchObject({ code: "canceled" });
  expect(bench.clock.pending).toBe(0);
});

test.for<[StartFault, number]>([
  ["not-found", 127],
  ["not-executable", 126],
])("a program that is %s ends as a shell would have, with the reason", async ([fault, exitCode]) => {
  const bench = new Bench();
  const running = bench.run();
  bench.exit.reject(new CommandNotStarted(fault, "this is why"));
  expect(await running).toMatchObject({ exitCode, startError: "this is why", stdout: { written: 0 } });
});

test.for<[StartFault, string, string | undefined]>([
  ["user", "invalid_request", "user"],
  ["workingDir", "invalid_request", "workingDir"],
  ["too-long", "invalid_request", "command"],
  ["other", "unavailable", undefined],
])("a fault of %s is no end of a program: it is answered with %s", async ([fault, code, field]) => {
  const bench = new Bench();
  const running = failureOf(bench.run());
  bench.exit.reject(new CommandNotStarted(fault, "this is why"));
  const failure = await running;
  expect([failure.code, failure.message, failure.details.field]).toEqual([code, "this is why", field]);
});

test("what nobody foresaw is told without a word of the machine", async () => {
  const bench = new Bench();
  const running = failureOf(bench.run());
  bench.exit.reject(new Error("runc exec /var/lib/secret: no such file"));
  const failure = await running;
  expect(failure).toMatchObject({ code: "unavailable" });
  expect(failure.message).not.toContain("/var/lib");
  expect(bench.logged.lines).toMatchObject([{ msg: "command was not started", sandboxId: "i1" }]);
});

test("what the sandbox is not in a state for is told as it is", async () => {
  const bench = new Bench();
  bench.failure = new ServiceError("conflict", "sandbox i1 is paused");
  expect(await failureOf(bench.run())).toBe(bench.failure);
});

test.for([0, 300_001, Number.NaN])("a time of %d ms is refused", async (timeoutMs) => {
  const bench = new Bench();
  expect(await failureOf(bench.run({ timeoutMs }))).toMatchObject({ code: "invalid_request", details: { field: "timeout" } });
  expect(bench.started).toBeUndefined();
});
