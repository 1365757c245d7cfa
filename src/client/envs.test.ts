import { afterAll, expect, expectTypeOf, test } from "vitest";
import { AgentBoxClient } from "./agentbox-client.ts";
import type { Cluster, EnvAutoscaling, EnvBody, EnvEvent, EnvMember, EnvMemberWish, EnvRefresh } from "./envs.ts";
import { anEnvBody, autoscaled, EnvScene } from "../../test/world/env-service-scene.ts";
import { NativeApi } from "../../test/world/native-api.ts";
import { envRoutes } from "#api/native/envs/env-routes.ts";
import type { ClusterView } from "#services/envs/env-service.ts";
import type * as services from "#services/envs/env-deps.ts";
import type { EnvEvent as ServiceEvent } from "#services/envs/env-views.ts";
import type * as views from "#services/envs/env-views.ts";
import type { EnvRefresh as ServiceRefresh } from "#services/envs/refresh-env.ts";

const at = await EnvScene.open();
const api = await NativeApi.over(() => envRoutes(at), at.scene.clock);
const url = await api.listen();
const { envs } = new AgentBoxClient({ url, apiKey: "admin" });
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await at[Symbol.asyncDispose]();
});

test("what the client reads is what the services answer, and what it sends is what they take", () => {
  expectTypeOf<views.EnvMember>().toExtend<EnvMember>();
  expectTypeOf<views.EnvAutoscaling>().toExtend<EnvAutoscaling>();
  expectTypeOf<ServiceEvent>().toExtend<EnvEvent>();
  expectTypeOf<ServiceRefresh>().toExtend<EnvRefresh>();
  expectTypeOf<ClusterView>().toExtend<Cluster>();
  expectTypeOf<EnvBody>().toExtend<services.EnvBody>();
  expectTypeOf<EnvMemberWish>().toExtend<services.MemberWish>();
});

test("every route of Envs is called by the client", async () => {
  const py = { name: "py", namespace: "default" };
  await envs.create(anEnvBody("py", {}, { autoscaling: autoscaled(0, 5) }));
  expect((await envs.list()).map(({ metadata }) => metadata.name)).toEqual(["py"]);
  const env = await envs.get(py);
  expect((await envs.replace(py, env)).metadata.name).toBe("py");
  expect((await envs.members(py)).map(({ name }) => name)).toEqual(["py-2c4gi"]);
  expect(await envs.addMember(py, { name: "more", config: { scalingGroup: "more" } })).toMatchObject({ name: "more", replicas: 1 });
  expect(await envs.replaceMember(py, "more", { config: { scalingGroup: "more", priority: 3 } })).toMatchObject({
    config: { priority: 3 },
  });
  expect(await envs.scaleMember(py, "more", 0)).toMatchObject({ replicas: 0 });
  expect(await envs.member(py, "more")).toMatchObject({ replicas: 0 });
  expect(await envs.putGroup(py, "more", { maxReplicas: 2 })).toMatchObject({ name: "more", maxReplicas: 2 });
  expect(await envs.group(py, "more")).toMatchObject({ enabled: false });
  expect((await envs.groups(py)).map(({ name }) => name)).toEqual(["default", "more"]);
  expect((await envs.autoscaling(py)).groups).toHaveLength(2);
  await envs.deleteGroup(py, "more");
  await envs.removeMember(py, "more");
  expect(await envs.refresh(py, { dryRun: true })).toMatchObject({ dryRun: true, members: [{ name: "py-2c4gi", changes: [] }] });
  expect(await envs.events(py)).toEqual([]);
  expect(await envs.clusters()).toEqual([{ id: "local", engine: "embedded", isLocal: true }]);
  await envs.delete(py, { endSandboxes: true });
  await expect(envs.get(py)).rejects.toMatchObject({ code: "not_found" });
});
