/** `get -w` and `delete` that waits, over a store in memory. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { commandTable } from "./command-table.ts";
import { agentbox, type CliSurroundings, type Said } from "../../test/world/run-cli.ts";
import { settle, SteppedClock } from "../../test/world/stepped-clock.ts";

// Commands are loaded when they are first used, which takes longer than a test settles.
beforeAll(() => Promise.all(commandTable.map((entry) => entry.load())));

let clock: SteppedClock;
let store: ObjectStore;
beforeEach(() => {
  clock = new SteppedClock();
  store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
});
afterEach(() => store.close());

function create(name: string, more: Partial<ConfigMap["metadata"]> = {}): Promise<ConfigMap> {
  return store.create(ConfigMaps, { metadata: { name, namespace: "default", ...more }, data: { k: "1" } });
}

function change(name: string, data: Record<string, string>): Promise<ConfigMap> {
  return store.patch(ConfigMaps, { namespace: "default", name }, { type: "merge", body: { data } });
}

/** Starts a command that runs while the test acts. */
class Running {
  said = "";
  readonly end = new AbortController();
  readonly result: Promise<Said>;

  constructor(argv: readonly string[], more: CliSurroundings = {}) {
    this.result = agentbox(argv, { client: store, clock, signal: this.end.signal, onOutput: (text) => (this.said += text), ...more });
  }

  async stop(): Promise<Said> {
    this.end.abort(new Error("ended"));
    return await this.result;
  }
}

describe("get -w", () => {
  test("shows the numbers of an Env as they move", async () => {
    const key = { namespace: "default", name: "py" };
    await store.create(SandboxEnvs, { metadata: key, spec: { templateRef: { name: "base" }, mode: "WarmPool" } });
    const watch = new Running(["get", "sbe", "-w"]);
    await settle();
    for (const idleReplicas of [1, 4]) {
      await store.patch(
        SandboxEnvs,
        key,
        { type: "merge", body: { status: { desiredReplicas: 5, idleReplicas } } },
        { subresource: "status" },
      );
      await settle();
    }
    const { stdout } = await watch.stop();
    const [header = "", ...rows] = stdout.trimEnd().split("\n");
    expect(header).toMatch(/DESIRED +RUNNING +IDLE/);
    expect(rows.map((row) => row.slice(header.indexOf("IDLE")).trim().split(/ +/)[0])).toEqual(["0s", "1", "4"]);
  });

  test("shows what is there, then every change as a row under the others", async () => {
    await create("first-of-them");
    const watch = new Running(["get", "cm", "-w"]);
    await settle();
    expect(watch.said).toBe("NAME            DATA   AGE\nfirst-of-them   1      0s\n");
    await clock.step(5000);
    await create("b");
    await change("first-of-them", { more: "2" });
    await store.delete(ConfigMaps, { namespace: "default", name: "b" });
    await settle();
    const { stdout, code } = await watch.stop();
    expect(stdout.split("\n").slice(2)).toEqual([
      "b               1      0s",
      "first-of-them   2      5s",
      "b               1      0s",
      "",
    ]);
    expect(code).toBe(130);
  });

  test("shows headers with the first row when nothing is there yet", async () => {
    const watch = new Running(["get", "cm", "-w", "-A"]);
    await settle();
    expect(watch.said).toBe("");
    await create("a");
    await settle();
    expect((await watch.stop()).stdout).toBe("NAMESPACE   NAME   DATA   AGE\ndefault     a      1      0s\n");
  });

  test("follows one object by its name", async () => {
    await create("a");
    await create("b");
    const watch = new Running(["get", "cm", "a", "-w", "--no-headers"]);
    await settle();
    await change("b", { x: "1" });
    await change("a", { x: "1" });
    await settle();
    expect((await watch.stop()).stdout).toBe("a     1     0s\na     2     0s\n");
  });

  test("separates YAML documents, and prints names as lines", async () => {
    await create("a");
    const [yaml, names] = [new Running(["get", "cm", "-w", "-o", "yaml"]), new Running(["get", "cm", "-w", "-o", "name"])];
    await settle();
    await change("a", { x: "1" });
    await settle();
    expect((await yaml.stop()).stdout.split("---\n")).toHaveLength(2);
    expect((await names.stop()).stdout).toBe("configmap/a\nconfigmap/a\n");
  });

  test("goes on where the server ended the watch", async () => {
    const versions: (string | undefined)[] = [];
    const client: ObjectClient = Object.assign(Object.create(store) as ObjectStore, {
      get: store.get.bind(store),
      list: store.list.bind(store),
      // A server that ends each watch after its first event.
      watch: async function* (...[type, options]: Parameters<ObjectClient["watch"]>) {
        versions.push(options?.resourceVersion);
        for await (const event of store.watch(type, options)) {
          yield event;
          return;
        }
      },
    });
    const watch = new Running(["get", "cm", "-w", "-o", "name"], { client });
    await settle();
    const a = await create("a");
    await settle();
    const b = await create("b");
    await settle();
    expect((await watch.stop()).stdout).toBe("configmap/a\nconfigmap/b\n");
    expect(versions.slice(1)).toEqual([a.metadata.resourceVersion, b.metadata.resourceVersion]);
  });

  test("is refused for several kinds, several names, or a name that is not there", async () => {
    const refused = (argv: string[]): Promise<Said> => agentbox(argv, { client: store, clock });
    expect((await refused(["get", "cm,secrets", "-w"])).stderr).toContain("single resource type");
    expect((await refused(["get", "cm", "a", "b", "-w"])).stderr).toContain("at most one name");
    expect((await refused(["get", "cm", "a", "-w"])).stderr).toBe('Error from server (NotFound): configmaps "a" not found\n');
  });
});

describe("delete", () => {
  const hold = { finalizers: ["example.test/hold"] };
  const release = (name: string): Promise<ConfigMap> =>
    store.patch(ConfigMaps, { namespace: "default", name }, { type: "merge", body: { metadata: { finalizers: null } } });

  test("waits until the object is gone, and says for what after two seconds", async () => {
    await create("a", hold);
    const deleting = new Running(["delete", "cm", "a"]);
    await settle();
    expect(deleting.said).toBe('configmap "a" deleted from default namespace\n');
    await clock.step(1999);
    await change("a", { still: "there" });
    await clock.step(1);
    expect(deleting.said).toContain('waiting for configmap "a" to be gone (finalizers: example.test/hold)');
    await release("a");
    expect((await deleting.result).code).toBe(0);
  });

  test("says nothing of waiting when it was short", async () => {
    await create("a", hold);
    const deleting = new Running(["delete", "cm", "a"]);
    await clock.step(1000);
    await release("a");
    await deleting.result;
    await clock.step(5000);
    expect((await deleting.result).stderr).toBe("");
  });

  test("does not wait for an object that was made anew under the name", async () => {
    await create("a", hold);
    const deleting = new Running(["delete", "cm", "a"]);
    await settle();
    await release("a");
    await create("a");
    expect((await deleting.result).code).toBe(0);
  });

  test("does not wait when told so", async () => {
    await create("a", hold);
    expect((await agentbox(["delete", "cm", "a", "--wait=false"], { client: store, clock })).code).toBe(0);
  });

  test("gives up after its timeout and names the object", async () => {
    await create("a", hold);
    const deleting = new Running(["delete", "cm", "a", "--timeout=10s"]);
    await settle();
    await clock.step(10_000);
    const { stderr, code } = await deleting.result;
    expect(stderr).toMatch(/error: timed out waiting for the condition on configmaps\/a\n$/);
    expect(code).toBe(1);
  });

  test("stops waiting at Ctrl-C, while the object goes on going", async () => {
    await create("a", hold);
    const deleting = new Running(["delete", "cm", "a"]);
    await settle();
    expect((await deleting.stop()).code).toBe(130);
    expect((await store.get(ConfigMaps, { namespace: "default", name: "a" })).metadata.deletionTimestamp).toBeDefined();
  });

  test("deletes what a selector finds, in its namespace only", async () => {
    await create("a", { labels: { app: "x" } });
    await create("b", { labels: { app: "y" } });
    const { stdout } = await agentbox(["delete", "cm", "-l", "app=x"], { client: store, clock });
    expect(stdout).toBe('configmap "a" deleted from default namespace\n');
    expect(await agentbox(["delete", "cm", "--all", "-n", "kube-system"], { client: store, clock })).toMatchObject({
      stdout: "No resources found\n",
      code: 0,
    });
  });

  test.each([
    [["delete", "cm", "a", "--force", "--grace-period=5"], "--force and --grace-period greater than 0 cannot be specified together", 1],
    [["delete", "cm", "-l", "a=b", "--all"], "cannot set --all and --selector at the same time", 1],
    [["delete", "-f", "x.yaml", "cm", "a"], "you may not specify resource arguments as well", 1],
    [["delete"], "delete needs a kind and names, or -f FILE", 2],
    [["delete", "cm", "a", "--timeout=soon"], '--timeout: "soon" is not a duration', 2],
  ])("%j is refused", async (argv, message, code) => {
    const said = await agentbox(argv, { client: store, clock });
    expect(said.stderr).toContain(message);
    expect(said.code).toBe(code);
  });
});
