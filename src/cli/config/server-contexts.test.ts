import { describe, expect, test } from "vitest";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";
import { chosenContext, type ContextFile, parseContexts } from "./server-contexts.ts";

const file: ContextFile = {
  current: "prod",
  contexts: { prod: { url: "https://api.box.test", key: "e2b_secret" }, here: { home: "/data" }, k: { kubeconfig: "/kc" } },
};

describe("the server of a command", () => {
  test.each([
    ["the context in use", {}, undefined, "prod"],
    ["--context, before it", {}, "here", "here"],
    ["AGENTBOX_CONTEXT", { AGENTBOX_CONTEXT: "k" }, undefined, "k"],
    ["--context, before AGENTBOX_CONTEXT", { AGENTBOX_CONTEXT: "k" }, "here", "here"],
    ["no context where AGENTBOX_HOME names a folder", { AGENTBOX_HOME: "/x" }, undefined, undefined],
    ["--context, before AGENTBOX_HOME", { AGENTBOX_HOME: "/x" }, "prod", "prod"],
  ])("is %s", (_, env, flag, name) => {
    expect(chosenContext(file, env, flag)?.name).toBe(name);
  });

  test("is not guessed where the environment and a context name two", () => {
    expect(() => chosenContext(file, { AGENTBOX_API_URL: "http://x" }, "prod")).toThrow(
      "AGENTBOX_API_URL is set and takes precedence over the context prod",
    );
  });

  test("must be there", () => {
    expect(() => chosenContext(file, {}, "toString")).toThrow('there is no context "toString"; there is prod, here, k');
  });
});

test("a file that is none of contexts is refused with its path", () => {
  expect(() => parseContexts("{", "/f")).toThrow("/f is not JSON");
  expect(() => parseContexts('{"contexts":[]}', "/f")).toThrow('/f is not a context file: it needs "contexts"');
});

describe("agentbox config", () => {
  function world(kept: ContextFile = { contexts: {} }) {
    const state = { file: kept };
    const contexts = { path: "/c.json", read: async () => state.file, write: async (next: ContextFile) => void (state.file = next) };
    const run = (line: string, stdin = ""): Promise<Said> => agentbox(line.split(" "), { contexts, stdin });
    return { state, run, contexts };
  }

  test("keeps servers with their keys, never prints a key, and uses the first one at once", async () => {
    const { state, run } = world();
    expect((await run("config set prod --url https://api.box.test/ --key-stdin", "e2b_secret\n")).stdout).toBe(
      "context prod is created and in use\n",
    );
    expect((await run("config set here --home /data")).stdout).toBe("context here is created\n");
    expect(state.file).toEqual({
      current: "prod",
      contexts: { prod: { url: "https://api.box.test", key: "e2b_secret" }, here: { home: "/data" } },
    });
    for (const output of ["table", "wide", "json", "yaml", "name", "jsonpath={[*]}"]) {
      const { stdout, code } = await run(`config ls -o ${output}`);
      expect([code, stdout.includes("e2b_secret"), stdout.includes("prod")]).toEqual([0, false, true]);
    }
    expect((await run("config use here")).stdout).toBe("context here is in use\n");
    expect((await run("config rm here")).stdout).toBe("context here is removed\n");
    expect(state.file.current).toBeUndefined();
  });

  test("does not let a key follow its context to another address", async () => {
    const { state, run } = world(file);
    await run("config set prod --url https://api.other.test");
    expect(state.file.contexts["prod"]).toEqual({ url: "https://api.other.test" });
  });

  test.each([
    ["config set", "needs the name of one context"],
    ["config set a/b --url http://x", "the name of a context may contain only letters"],
    ["config set a", "config set needs a value to set"],
    ["config set a --url box", "--url must be such as https://"],
    ["config set a --url http://x --home /d", "use either --url or --home, not both"],
    ["config set a --home /d --gateway http://g", "need --url"],
    ["config set a --kube-context c --home /d", "--kube-context needs --kubeconfig"],
    ["config set a --url http://x --key-stdin", "standard input does not contain an API key"],
    ["config use nope", 'there is no context "nope"'],
    ["config ls -o xml", "--output may be table, wide, json, yaml, name or jsonpath={PATH}"],
  ])("%s is refused", async (line, message) => {
    const { code, stderr } = await world().run(line);
    expect([code > 0, stderr]).toEqual([true, expect.stringContaining(message)]);
  });

  test("the key of this machine is not sent to a remote server", async () => {
    const { contexts } = world({ current: "p", contexts: { p: { url: "https://api.box.test" } } });
    const home = {
      folder: "/h",
      socketPath: "/h/s",
      httpAddress: async () => "http://127.0.0.1:1",
      gateway: async () => undefined,
      adminKey: async () => "e2b_local",
    };
    expect((await agentbox(["ls"], { contexts, home })).stderr).toBe(
      "error: the context p has no key: agentbox config set p --key-stdin, or set AGENTBOX_API_KEY\n",
    );
  });
});
