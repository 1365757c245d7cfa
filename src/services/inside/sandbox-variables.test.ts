import { expect, test } from "vitest";
import type { PodRequest } from "#daemon-client/pod-http.ts";
import { failureOf, ServiceScene } from "../../../test/world/service-scene.ts";
import { daemonVariables } from "./sandbox-variables.ts";

async function ask(answer: { readonly status: number; readonly text: string } | Error): Promise<{ asked: PodRequest[]; found: unknown }> {
  await using scene = await ServiceScene.open();
  const pod = await scene.sandbox("i1");
  const asked: PodRequest[] = [];
  const send = async (_at: unknown, request: PodRequest) => {
    asked.push(request);
    if (answer instanceof Error) throw answer;
    return { ...answer, headers: {} };
  };
  const variables = daemonVariables({ http: { send }, tokens: { accessTokenOf: (id) => `token of ${id}` } });
  const found = await variables(pod).catch(() => failureOf(variables(pod)));
  return { asked, found };
}

test("the daemon is asked, with the sandbox's token", async () => {
  const { asked, found } = await ask({ status: 200, text: '{"A":"1","B":""}' });
  expect(found).toEqual({ A: "1", B: "" });
  expect(asked).toMatchObject([{ method: "GET", path: "/envs", headers: { "x-access-token": "token of i1" } }]);
});

test("what no program can be given is left out, whatever a sandbox makes its daemon say", async () => {
  const said = { A: "1", "": "x", "B=C": "x", "D\0": "x", E: "x\0", F: 1, G: null };
  expect((await ask({ status: 200, text: JSON.stringify(said) })).found).toEqual({ A: "1" });
  expect((await ask({ status: 200, text: "[]" })).found).toEqual({});
  expect((await ask({ status: 200, text: "null" })).found).toEqual({});
});

test.each([[{ status: 503, text: "" }], [{ status: 200, text: "{" }], [new Error("no whole answer within 10 s")]])(
  "a daemon that does not say it fails the command: %j",
  async (answer) => {
    expect((await ask(answer)).found).toMatchObject({ code: "unavailable", message: expect.stringContaining("daemon does not answer") });
  },
);
