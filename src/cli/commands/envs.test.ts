import { afterAll, describe, expect, test } from "vitest";
import { Events } from "#model/core-kinds.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { fleetRoutes } from "#api/native/fleet-routes.ts";
import { poolService } from "#services/pools/pool-service.ts";
import { templateService } from "#services/templates/template-service.ts";
import { EnvScene } from "../../../test/world/env-service-scene.ts";
import { noVolumes } from "../../../test/world/no-volumes.ts";
import { NativeApi } from "../../../test/world/native-api.ts";
import { agentbox, type CliSurroundings, type Said } from "../../../test/world/run-cli.ts";

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

function run(argv: string, more: CliSurroundings & { readonly by?: string } = {}): Promise<Said> {
  const { by = "admin", ...surroundings } = more;
  return agentbox(argv.split(" "), { env: { AGENTBOX_API_URL: url, AGENTBOX_API_KEY: by }, clock: at.scene.clock, ...surroundings });
}

/** What is said by a command that succeeds. */
async function said(argv: string, more?: Parameters<typeof run>[1]): Promise<string> {
  const { code, stdout, stderr } = await run(argv, more);
  expect([argv, code, stderr]).toEqual([argv, 0, expect.any(String)]);
  return stdout;
}

async function writeStatus(name: string, status: object): Promise<void> {
  const { client, cache } = at.scene;
  const patch = { type: "merge", body: { status: { ...status } } } as const;
  cache.envs.remember(await client.patch(SandboxEnvs, { namespace: "default", name }, patch, { subresource: "status" }));
}

describe("agentbox envs", () => {
  test("makes an Env that is sized by demand, shows it, changes its bounds and deletes it", async () => {
    expect(await said("envs create py --template base --cpu 1 --memory 1Gi --max 20")).toBe(
      "env py is created (watch it fill: agentbox envs show py)\n",
    );
    const { spec } = await at.stored("py");
    expect(spec.autoscaling?.groups).toMatchObject([
      { name: "default", enabled: true, maxReplicas: 20, scaleUpPolicy: { mode: "Demand" } },
    ]);
    expect(spec.clusters?.[0]?.members).toMatchObject([
      { name: "py-1c1gi", config: { inlineResources: { limits: { cpu: "1", memory: "1Gi" } } } },
    ]);
    const shown = await said("envs show py");
    expect(shown).toMatch(/^py-1c1gi +local +cpu=1,memory=1Gi +0 +autoscaler/m);
    expect(shown).toMatch(/^default +Demand 0-20/m);
    expect(await said("envs ls")).toMatch(/^NAME +MODE +TEMPLATE[^]*\npy +WarmPool +base/);
    await said("envs set py --min 3 --max 50 --mode Conservative");
    expect(await said("envs show py")).toMatch(/^default +Conservative 3-50/m);
    expect(await said("envs rm py")).toBe("env py will be deleted when its sandboxes have ended\n");
    expect((await run("envs show py")).stderr).toContain('there is no Env "py"');
  });

  test("makes one of a fixed size, which is scaled by hand; an autoscaled one says how to change its size", async () => {
    await said("envs create fix --template base --replicas 5");
    expect(await said("envs scale fix 7")).toBe("member fix-default of env fix now wants 7 pods\n");
    await said("envs add fix --member more --priority 4");
    expect((await run("envs scale fix 2")).stderr).toContain("say which one: fix/fix-default, fix/more");
    expect(await said("envs scale fix/more 2 -o json")).toContain('"replicas": 2');
    await said("envs set fix --mode Default --max 9");
    const refused = await run("envs scale fix/more 3");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("change minReplicas/maxReplicas or disable the group")]);
    await said("envs set fix --mode off");
    await said("envs scale fix/more 3");
    expect(await said("envs drop fix/more")).toContain("member more is removed from env fix");
    expect((await at.envs.members({ role: "admin", team: "", keyId: "k" }, { name: "fix" })).map(({ name }) => name)).toEqual([
      "fix-default",
    ]);
  });

  test("refreshes after it has shown what changes", async () => {
    await at.template({ name: "moving" }, { version: "v1.0.0" });
    await said("envs create ref --template moving --replicas 1");
    expect(await said("envs refresh ref --dry-run")).toBe("1 of 1 members is up to date\n");
    const containers = [{ name: "main", image: "registry.invalid/app:2" }];
    await at.template({ name: "moving" }, { version: "v2.0.0", template: { spec: { containers } } });
    const preview = await said("envs refresh ref --dry-run");
    expect(preview).toMatch(
      /^ref-default +spec\.template\.spec\.containers\[0\]\.image +registry\.invalid\/app:1 +registry\.invalid\/app:2$/m,
    );
    expect(preview).toContain("Nothing was changed (dry run)");
    expect(await said("envs refresh ref/ref-default")).toContain("running sandboxes are not affected");
    expect(await said("envs refresh ref --dry-run")).toBe("1 of 1 members is up to date\n");
  });

  test("explains the size of an Env with the latest decision and events", async () => {
    await said("envs create why --template base --max 9");
    const { metadata } = await at.stored("why");
    const decision = "3 wanted: 2 in use, 0 waiting, 1 spare";
    const observedMembers = [{ name: "why-default", state: "Saturated", message: "no room on the machine", idleCount: 1, runningCount: 2 }];
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    await writeStatus("why", {
      conditions: [{ type: "AutoscalingActive", status: "True", reason: "Active", message: "", lastTransitionTime }],
      scalingGroups: [{ name: "default", totalDesired: 3, totalRunning: 2, totalIdle: 1, totalWaiting: 0, decision }],
      clusters: [{ clusterID: "local", isLocal: true, observedMembers }],
    });
    await at.scene.client.create(Events, {
      metadata: { namespace: "default", name: "e-1" },
      involvedObject: { name: "why", uid: metadata.uid ?? "" },
      type: "Warning",
      reason: "MemberSaturated",
      message: "no room",
      lastTimestamp: at.scene.now,
    });
    const text = await said("envs explain why");
    expect(text).toContain("Autoscaling: on (Active)");
    expect(text).toContain(`Group default (Demand 0-9): ${decision}`);
    expect(text).toMatch(/^ {2}why-default +0 +1 +2 +Saturated .*no room on the machine$/m);
    expect(text).toMatch(/Warning +MemberSaturated +why +no room$/m);
    expect(JSON.parse(await said("envs explain why -o json"))).toMatchObject({
      groups: [{ decision }],
      events: [{ reason: "MemberSaturated" }],
    });
  });

  test("changes image and version, and says when pools wait for a refresh", async () => {
    await at.template({ name: "versioned" }, { version: "v1.0.0" });
    await said("envs create img --template versioned --replicas 0");
    await said("envs set img --image registry.invalid/app:9 --idle-timeout 5m");
    const { spec } = await at.stored("img");
    expect([spec.overrides, spec.clusters?.[0]?.members?.[0]?.spec?.template?.spec?.containers[0]?.image]).toEqual([
      { image: "registry.invalid/app:9", defaultIdleTimeout: "5m" },
      "registry.invalid/app:9",
    ]);
    expect((await run("envs set img --template-version v1.0.0")).stderr).toContain("only after: agentbox envs refresh img");
    expect((await at.stored("img")).spec.templateRef).toEqual({ name: "versioned", version: "v1.0.0" });
    await said("envs set img --template-version current");
    expect((await at.stored("img")).spec.templateRef).toEqual({ name: "versioned" });
  });

  test("reads credentials from standard input and never prints them", async () => {
    const flags = "--registry r.example.com --registry-user robot --registry-password-stdin";
    const made = await said(`envs create cred --template base --replicas 0 ${flags} -o yaml`, { stdin: "hunter2hunter2\n" });
    expect(made).toContain("name: ips-cred");
    expect(made + (await said("envs show cred -o json"))).not.toContain("hunter2");
    expect((await run("envs set cred --registry r.example.com")).stderr).toContain("--registry-password-stdin");
  });

  test("I8: an Env of another tenant does not exist for the caller", async () => {
    await said("envs create mine --template base", { by: "ann" });
    expect(await said("envs ls", { by: "ann" })).toMatch(/^mine-/m);
    expect(await said("envs ls", { by: "eve" })).not.toContain("mine");
    const name = /^mine-\w+/m.exec(await said("envs ls", { by: "ann" }))?.[0] ?? "";
    for (const word of ["show", "explain", "refresh", "rm"]) {
      expect((await run(`envs ${word} ${name}`, { by: "eve" })).stderr).toContain(`there is no Env "${name}"`);
    }
  });

  test.each([
    ["envs", "needs one of ls, create"],
    ["envs create", "needs the name of an Env"],
    ["envs create x", "needs --template"],
    ["envs create x --template base --replicas 3 --max 5", "remove --max"],
    ["envs create x --template base --multiplier 2", "--multiplier needs --instance-type"],
    ["envs create x --template base --instance-type a --cpu 1", "remove --cpu and --memory"],
    ["envs create x --template nope", "there is no SandboxTemplate nope"],
    ["envs create x --template base --min 3 --max 2", "minReplicas 3 is above maxReplicas 2"],
    ["envs set x", "needs a value to set"],
    ["envs scale x", "needs an Env and a number"],
    ["envs scale x many", "whole number"],
    ["envs drop x", "needs ENV/MEMBER"],
    ["envs ls x", "takes no names"],
    ["envs ls --max 3", "does not take --max"],
    ["envs rm", "needs the name of an Env"],
  ])("%s says what is wrong", async (argv, message) => {
    const { code, stderr } = await run(argv);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(message)]);
  });
});
