import { expect, test } from "vitest";
import type { PodRequest } from "#daemon-client/pod-http.ts";
import { aSandboxPod } from "../../../test/world/sandbox-pods.ts";
import { daemonUse } from "./daemon-use.ts";

const said = { cpu_used_ms: 1500, cpu_count: 2, mem_total: 1000, mem_used: 300, mem_cache: 40, disk_used: 5, disk_total: 600 };
const pod = aSandboxPod("p", { id: "abc", phase: "running" });

function answering(status: number, text: string) {
  const requests: PodRequest[] = [];
  const send = async (_: unknown, request: PodRequest) => {
    requests.push(request);
    return { status, headers: {}, text };
  };
  return { requests, read: daemonUse({ http: { send }, tokens: { accessTokenOf: (id) => `token of ${id}` } }) };
}

test("a daemon is asked with its sandbox's token for what the sandbox uses", async () => {
  const { requests, read } = answering(200, JSON.stringify(said));
  expect(await read(pod)).toEqual({
    cpuMs: 1500,
    memoryBytes: 300,
    cacheBytes: 40,
    diskBytes: 5,
    machine: { cpus: 2, memoryBytes: 1000, diskBytes: 600 },
  });
  expect(requests).toMatchObject([{ method: "GET", path: "/metrics", headers: { "x-access-token": "token of abc" } }]);
});

test.each([
  ["a refusal", 401, "{}", "answered 401"],
  ["a number that is none", 200, JSON.stringify({ ...said, mem_used: "much" }), "no mem_used"],
  ["a negative one", 200, JSON.stringify({ ...said, cpu_used_ms: -1 }), "no cpu_used_ms"],
  ["nothing", 200, "null", "no cpu_used_ms"],
  ["no JSON", 200, "<html>", "JSON"],
])("%s is a failure, not a sample", async (_, status, text, message) => {
  await expect(answering(status, text).read(pod)).rejects.toThrow(message);
});
