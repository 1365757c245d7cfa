import { expect, test } from "vitest";
import { agentbox } from "../../../test/world/run-cli.ts";
import type { ServePartsRequest } from "../context.ts";

async function asked(argv: readonly string[], env: Record<string, string> = {}) {
  let request: ServePartsRequest | undefined;
  const serveParts = async (given: ServePartsRequest): Promise<number> => {
    request = given;
    return 0;
  };
  const { stderr, code } = await agentbox(["serve", ...argv], { env, serveParts });
  return { request, stderr, code };
}

test("a gateway is told where the API is", async () => {
  expect((await asked(["gateway"])).request?.apiAddress).toBeUndefined();
  const byVariable = await asked(["gateway"], { AGENTBOX_API_ADDRESS: "agentbox-api.agentbox.svc:8080" });
  expect(byVariable.request?.apiAddress).toEqual({ host: "agentbox-api.agentbox.svc", port: 8080 });
  expect((await asked(["gateway", "--api-address", "[fd00::1]:80"])).request?.apiAddress).toEqual({ host: "fd00::1", port: 80 });
});

test.each(["agentbox-api", "agentbox-api:0", "agentbox-api:70000", "http://agentbox-api:80", ":80"])(
  "%s is no address of an API",
  async (text) => {
    const { stderr, code } = await asked(["gateway", "--api-address", text]);
    expect([stderr, code]).toEqual([expect.stringContaining("--api-address must be HOST:PORT"), 2]);
  },
);

const image = { AGENTBOX_DAEMON_IMAGE: "registry.invalid/daemon:1" };

test("parts are named once each, in any order, and everything else is as usual", async () => {
  const { request } = await asked(["gateway", "api", "controllers", "api"], image);
  expect(request).toMatchObject({
    parts: ["api", "controllers", "gateway"],
    namespace: undefined,
    poolNamespace: "default",
    host: "0.0.0.0",
    port: 8080,
    healthPort: 9090,
    gateway: { port: 8081, tlsPort: 8443 },
    domain: "agentbox.localhost",
    databaseUrl: undefined,
  });
});

test("which cluster it is, and whether pools get Envs, is said by flags or variables", async () => {
  const usual = (await asked(["api", "controllers"], image)).request;
  expect([usual?.clusterID, usual?.adoptPools]).toEqual([undefined, undefined]);
  const { request } = await asked(["api", "controllers", "--cluster-id", "eu-1", "--adopt-pools"], image);
  expect(request).toMatchObject({ clusterID: "eu-1", adoptPools: true });
  const byVariable = await asked(["api", "controllers"], { ...image, AGENTBOX_CLUSTER_ID: "eu-2", AGENTBOX_ADOPT_POOLS: "true" });
  expect(byVariable.request).toMatchObject({ clusterID: "eu-2", adoptPools: true });
  const wrong = await asked(["api", "controllers"], { ...image, AGENTBOX_ADOPT_POOLS: "yes" });
  expect([wrong.stderr, wrong.code]).toEqual([expect.stringContaining("AGENTBOX_ADOPT_POOLS must be true or false"), 2]);
});

test("the agent of a node is told which one it is on, and needs no more", async () => {
  expect((await asked(["node"], { AGENTBOX_NODE_NAME: "a" })).request?.node).toEqual({ name: "a", cgroupRoot: "/sys/fs/cgroup" });
  expect((await asked(["node", "--node-name", "a", "--cgroup-root", "/host"])).request?.node).toEqual({ name: "a", cgroupRoot: "/host" });
  expect((await asked(["gateway"], { AGENTBOX_NODE_NAME: "a" })).request?.node).toBeUndefined();
});

test("where checkpoints are kept is said by a flag or a variable, and credentials alone are a mistake", async () => {
  const env = { ...image, AGENTBOX_CHECKPOINT_REPOSITORY: "registry.example/a", AGENTBOX_CHECKPOINT_CREDENTIALS: "/config.json" };
  expect((await asked(["api", "controllers"], env)).request?.checkpoints).toEqual({
    repository: "registry.example/a",
    credentialsFile: "/config.json",
  });
  const { request } = await asked(["node", "--node-name", "a", "--checkpoint-repository", "registry.example/b"]);
  expect(request?.checkpoints).toEqual({ repository: "registry.example/b", credentialsFile: undefined });
  expect((await asked(["node", "--node-name", "a"])).request?.checkpoints).toBeUndefined();
  const wrong = await asked(["node", "--node-name", "a", "--checkpoint-credentials", "/config.json"]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("of no use without --checkpoint-repository")]);
});

test("a flag goes before its variable", async () => {
  const env = { AGENTBOX_NAMESPACE: "a", AGENTBOX_POOL_NAMESPACE: "pools", AGENTBOX_HEALTH_PORT: "1", AGENTBOX_DOMAIN: "x.example:8443" };
  const { request } = await asked(["gateway", "--namespace", "b", "--health-port", "2"], env);
  expect(request).toMatchObject({ namespace: "b", poolNamespace: "pools", healthPort: 2, domain: "x.example:8443" });
});

test.each([
  [[], {}, "name the parts to run: api, controllers, gateway or node"],
  [["apis"], {}, 'unknown part "apis"'],
  [["api"], image, "DATABASE_URL is required"],
  [["controllers", "gateway"], { ...image, DATABASE_URL: "" }, "DATABASE_URL is required"],
  [["api", "controllers"], {}, "--daemon-image (or AGENTBOX_DAEMON_IMAGE) is required"],
  [["node"], {}, "--node-name (or AGENTBOX_NODE_NAME) is required"],
  [["node", "gateway", "--node-name", "a"], {}, "node must be the only part"],
  [["gateway", "--domain", "Example.com"], {}, "--domain must be a DNS name in lower case"],
  [["gateway", "--domain", "example.com:70000"], {}, "--domain must be a DNS name in lower case"],
  [["gateway", "--tls-cert", "x"], {}, "--tls-cert and --tls-key must be given together"],
  [["gateway"], { AGENTBOX_GATEWAY_PORT: "x" }, "AGENTBOX_GATEWAY_PORT must be a port"],
] as const)("serve %j with %j is refused, and says why", async (argv, env, why) => {
  const { request, stderr, code } = await asked(argv, { ...env });
  expect([request, code]).toEqual([undefined, 2]);
  expect(stderr).toContain(why);
});
