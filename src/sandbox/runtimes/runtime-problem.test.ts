import { expect, test } from "vitest";
import { readyChecksOf, writtenChecks } from "./ready-checks.ts";
import { runtimeProblem } from "./runtime-problem.ts";

test.each([
  [{ name: "e2b" }],
  [{ name: "e2b", config: {} }],
  [{ name: "swerex", config: { mode: "process", user: "user" } }],
  [{ name: "my-own", config: { anything: [1, { deep: true }] } }],
])("%j is as it may be", (runtime) => {
  expect(runtimeProblem([{ name: "first" }, runtime])).toBeUndefined();
});

test.each([
  [{ name: "e2b", config: { a: 1 } }, 'has no setting "a"; this runtime has none'],
  [{ name: "code-interpreter", config: { a: 1 } }, 'has no setting "a"; this runtime has none'],
  [{ name: "swerex", config: { mod: "process" } }, 'has no setting "mod"; there are mode, user'],
  [{ name: "swerex", config: { mode: "both" } }, 'mode must be served or process, not "both"'],
  [{ name: "swerex", config: { user: "a b" } }, 'user must be the name of a user of the image, not "a b"'],
  [{ name: "my-own", config: { a: "x".repeat(70_000) } }, "bytes of JSON; there may be 65536"],
])("%j is refused with the field", (runtime, message) => {
  const problem = runtimeProblem([{ name: "first" }, runtime]);
  expect(problem?.field).toBe("spec.runtimes[1].config");
  expect(problem?.message).toContain(message);
});

test.each([
  [{ grpc: { port: 1 } }, "grpc cannot be asked by a create"],
  [{ httpGet: { port: 80, scheme: "HTTPS" } }, 'scheme must be HTTP, not "HTTPS"'],
  [{ tcpSocket: { port: 80, host: "other" } }, "host must be left out"],
  [{ httpGet: { port: "web" } }, 'port "web" is neither a number nor the name of a runtime that has a port'],
  [{ exec: {} }, "exec needs a command"],
])("the probe %j of a runtime of the image is refused with the field", (readinessProbe, message) => {
  const problem = runtimeProblem([{ name: "first" }, { name: "mine", readinessProbe }]);
  expect(problem?.field).toBe("spec.runtimes[1].readinessProbe");
  expect(problem?.message).toContain(message);
});

test("pods carry the checks of runtimes that the image brings, with all that the probe says", () => {
  const runtimes = [
    { name: "e2b", readinessProbe: { httpGet: { path: "/health", port: 49_983 } } },
    { name: "swerex", readinessProbe: { tcpSocket: { port: 8000 } } },
    {
      name: "web",
      port: 8080,
      readinessProbe: {
        httpGet: { port: "web", path: "/up", httpHeaders: [{ name: "a", value: "b" }] },
        initialDelaySeconds: 1,
        periodSeconds: 2,
        timeoutSeconds: 3,
        successThreshold: 4,
        failureThreshold: 5,
      },
    },
    { name: "db", readinessProbe: { exec: { command: ["pg_isready"] } } },
  ];
  const annotations = { "agentbox.navix.sh/runtime-checks": writtenChecks(runtimes) ?? "" };
  expect(readyChecksOf({ metadata: { name: "p", annotations }, spec: { containers: [] } })).toEqual([
    {
      runtime: "web",
      way: { kind: "http", port: 8080, path: "/up", headers: { a: "b" } },
      delayMs: 1000,
      periodMs: 2000,
      timeoutMs: 3000,
      successes: 4,
      patienceMs: 10_000,
    },
    { runtime: "db", way: { kind: "exec", command: ["pg_isready"] }, delayMs: 0, periodMs: 1000, timeoutMs: 1000, successes: 1 },
  ]);
  expect(writtenChecks(runtimes.slice(0, 2)), "pods of templates without such runtimes stay as they are").toBeUndefined();
});
