import { expect, test } from "vitest";
import { ConfigMaps } from "#model/core-kinds.ts";
import { admin, ann, namespace, ServiceScene } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { instanceTypeService } from "./instance-type-service.ts";

test("the catalogue follows its ConfigMap; tenants see no node labels, admins also what is wrong", async () => {
  await using scene = await ServiceScene.open();
  const service = instanceTypeService(scene);
  expect(service.list(admin)).toEqual({ instanceTypes: [], problems: [] });
  const data = { small: "{resources: {limits: {cpu: 1}}, nodeSelector: {disk: ssd}}", bad: "{resources: 7}" };
  await scene.client.create(ConfigMaps, { metadata: { namespace, name: "agentbox-instance-types" }, data });
  await settle();
  const small = { name: "small", resources: { limits: { cpu: 1 } }, minMultiplier: 1, maxMultiplier: 64 };
  expect(service.list(ann)).toEqual({ instanceTypes: [small] });
  expect(service.list(admin)).toEqual({
    instanceTypes: [{ ...small, nodeSelector: { disk: "ssd" } }],
    problems: [{ name: "bad", message: expect.stringContaining("resources is needed") as string }],
  });
  await scene.client.delete(ConfigMaps, { namespace, name: "agentbox-instance-types" });
  await settle();
  expect(service.list(ann)).toEqual({ instanceTypes: [] });
});
