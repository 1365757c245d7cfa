import { afterAll, beforeEach, expect, test } from "vitest";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { fleetRoutes } from "#api/native/fleet-routes.ts";
import { templateObjects } from "#ready-templates/template-objects.ts";
import { poolService } from "#services/pools/pool-service.ts";
import { templateService } from "#services/templates/template-service.ts";
import { EnvScene } from "../../../test/world/env-service-scene.ts";
import { NativeApi } from "../../../test/world/native-api.ts";
import { noVolumes } from "../../../test/world/no-volumes.ts";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";
import type { ReadyTemplates } from "../ready-templates.ts";

const at = await EnvScene.open();
const services = {
  envs: at.envs,
  pools: poolService(at.scene),
  templates: templateService(at.scene),
  volumes: noVolumes,
  statistics: () => Promise.reject(new Error("not asked for")),
};
const api = await NativeApi.over(() => fleetRoutes(services), at.scene.clock);
const url = await api.listen();
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await at[Symbol.asyncDispose]();
});

/** What was built. */
let built: string[];
beforeEach(() => (built = []));

const templates: ReadyTemplates = {
  describe: (name) => `about ${name}`,
  objects: (name, image) => templateObjects(name, image),
  build: async (name, { isFresh, onStep }) => {
    onStep({ doing: "tools: Debian packages", done: 0, total: 10 });
    built.push(`${name}${isFresh ? " fresh" : ""}`);
    return `agentbox-template-${name}:1`;
  },
};

function run(argv: string): Promise<Said> {
  return agentbox(argv.split(" "), {
    env: { AGENTBOX_API_URL: url, AGENTBOX_API_KEY: "admin" },
    clock: at.scene.clock,
    client: at.scene.client,
    readyTemplates: async () => templates,
  });
}

async function imageOf(template: string): Promise<unknown> {
  const { spec } = await at.scene.client.get(SandboxTemplates, { name: template });
  return spec.template?.spec?.containers[0]?.image;
}

test("a template that is not there is built and becomes a template and an Env", async () => {
  const { code, stdout, stderr } = await run("template add node");
  expect([code, stderr]).toEqual([0, "tools: Debian packages\n"]);
  expect(stdout).toMatch(/^node is there after .*agentbox run node\n$/);
  expect(built).toEqual(["node"]);
  expect(await imageOf("node")).toBe("agentbox-template-node:1");
  expect((await at.scene.client.get(SandboxEnvs, { namespace: "default", name: "node" })).spec.templateRef?.name).toBe("node");
  expect((await run("template ls")).stdout).toMatch(/^node +agentbox-template-node:1 +about node$/m);
});

test("one that is there gets the image as a new version, and keeps what its administrator has set", async () => {
  const { template } = templateObjects("desktop", "host");
  const limits = { cpu: "3", memory: "5Gi" };
  const own = { name: "sandbox", image: "host", resources: { limits } };
  await at.scene.client.create(SandboxTemplates, { ...template, spec: { ...template.spec, template: { spec: { containers: [own] } } } });
  expect((await run("template add desktop --image registry.example/desktop:2")).code).toBe(0);
  expect(built).toEqual([]);
  const { spec } = await at.scene.client.get(SandboxTemplates, { name: "desktop" });
  expect(spec.version).toBe("v1.0.1");
  expect(spec.template?.spec?.containers).toEqual([{ ...own, image: "registry.example/desktop:2" }]);
});

test("adding it again changes nothing", async () => {
  await run("template add browser");
  const { metadata } = await at.scene.client.get(SandboxTemplates, { name: "browser" });
  expect((await run("template add browser")).code).toBe(0);
  expect((await at.scene.client.get(SandboxTemplates, { name: "browser" })).metadata.resourceVersion).toBe(metadata.resourceVersion);
});

test("only the first of several is built anew, as the others stand on what it made", async () => {
  expect((await run("template add browser node --fresh")).code).toBe(0);
  expect(built).toEqual(["browser fresh", "node"]);
});

test.each([
  ["template add", "template add needs a name: base, code-interpreter, node, browser, desktop"],
  ["template add perl", 'there is no template "perl" to add; there are base,'],
  ["template add base node --image x", "--image is for one template"],
  ["template add base --image x --fresh", "--image uses an image as it is"],
])("%s is refused", async (argv, message) => {
  const { code, stderr } = await run(argv);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(built).toEqual([]);
});
