import { expect, test } from "vitest";
import { admin, ann, bob, eve, failureOf, nobody, redTeam, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, type SandboxTemplateSpec, SandboxTemplates } from "#model/sandbox-template.ts";
import type { Caller } from "#services/caller.ts";
import { templateService } from "./template-service.ts";

const pod = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };

function aTemplate(name: string, spec: Partial<SandboxTemplateSpec> = {}): SandboxTemplate {
  return { metadata: { name }, spec: { template: pod, ...spec } };
}

test("a template is made, read, replaced and deleted by an admin", async () => {
  await using scene = await ServiceScene.open();
  const templates = templateService(scene);
  const made = await templates.create(admin, aTemplate("base", { version: "v1.0.0" }));
  expect((await templates.get(ann, "base")).metadata.uid).toBe(made.metadata.uid);
  const replaced = await templates.replace(admin, "base", aTemplate("base", { version: "v1.1.0", idleImage: "registry.invalid/idle:1" }));
  expect(replaced).toMatchObject({ metadata: { uid: made.metadata.uid }, spec: { version: "v1.1.0" } });
  await templates.delete(admin, "base");
  expect((await failureOf(templates.delete(admin, "base"))).code).toBe("not_found");
  expect((await scene.client.list(SandboxTemplates)).items).toEqual([]);
});

test("rules say who sees a template: one that fits is enough, inside it team and users must both fit", async () => {
  await using scene = await ServiceScene.open();
  const templates = templateService(scene);
  const rules = {
    all: [],
    reds: [{ team: "red" }],
    anns: [{ team: "red", users: ["ann"] }],
    either: [{ team: "blue" }, { users: ["bob"] }],
    mixed: [{ team: "blue", users: ["ann"] }],
  };
  for (const [name, list] of Object.entries(rules)) await templates.create(admin, aTemplate(name, { visibility: { rules: list } }));
  const seen = async (caller: Caller) => (await templates.list(caller, {})).items.map(({ metadata }) => metadata.name);
  expect(await seen(ann)).toEqual(["all", "anns", "reds"]);
  expect(await seen(bob)).toEqual(["all", "either", "reds"]);
  expect(await seen(redTeam)).toEqual(["all", "anns", "reds"]);
  expect(await seen(eve)).toEqual(["all", "either"]);
  expect(await seen(nobody)).toEqual(["all"]);
  expect(await seen(admin)).toEqual(["all", "anns", "either", "mixed", "reds"]);
});

test("a template of a hub is read here and changed there", async () => {
  await using scene = await ServiceScene.open();
  const templates = templateService(scene);
  const labels = { "agentbox.io/sync-source": "global" };
  await scene.client.create(SandboxTemplates, { metadata: { name: "base", labels }, spec: { template: pod } });
  for (const write of [templates.replace(admin, "base", aTemplate("base")), templates.delete(admin, "base")]) {
    expect(await failureOf(write)).toMatchObject({ code: "conflict", message: expect.stringMatching(/hub.*change it there/) });
  }
  expect((await scene.client.get(SandboxTemplates, { name: "base" })).metadata.labels).toEqual(labels);
  const claims = await failureOf(templates.create(admin, { ...aTemplate("other"), metadata: { name: "other", labels } }));
  expect(claims).toMatchObject({ code: "invalid_request", details: { field: "metadata.labels.agentbox.io/sync-source" } });
});

test("I8: a template that is not meant for the caller is answered in the words for one that there never was", async () => {
  await using scene = await ServiceScene.open();
  const templates = templateService(scene);
  await templates.create(admin, aTemplate("reds", { visibility: { rules: [{ team: "red" }] } }));
  const wishes: readonly ((name: string) => Promise<unknown>)[] = [
    (name) => templates.get(eve, name),
    (name) => templates.create(eve, aTemplate(name)),
    (name) => templates.replace(eve, name, aTemplate(name)),
    (name) => templates.delete(eve, name),
  ];
  for (const wish of wishes) {
    expect(wordsOf(await failureOf(wish("reds")), "reds")).toBe(wordsOf(await failureOf(wish("none")), "none"));
  }
});

test("only an admin changes templates", async () => {
  await using scene = await ServiceScene.open();
  const templates = templateService(scene);
  await templates.create(admin, aTemplate("base"));
  for (const wish of [
    templates.create(ann, aTemplate("x")),
    templates.replace(ann, "base", aTemplate("base")),
    templates.delete(ann, "base"),
  ]) {
    expect((await failureOf(wish)).code).toBe("forbidden");
  }
});

test("a replace with a version in it is for that one only; without, it meets whatever is there", async () => {
  await using scene = await ServiceScene.open();
  const templates = templateService(scene);
  const made = await templates.create(admin, aTemplate("base"));
  await templates.replace(admin, "base", aTemplate("base", { description: "second" }));
  expect((await failureOf(templates.replace(admin, "base", made))).code).toBe("conflict");
  expect((await templates.replace(admin, "base", aTemplate("base", { description: "third" }))).spec.description).toBe("third");
});

test("what is wrong with a template is named with its place", async () => {
  await using scene = await ServiceScene.open();
  const templates = templateService(scene);
  await templates.create(admin, aTemplate("base", { version: "v2.0.0" }));
  const told = async (work: Promise<unknown>) => {
    const { code, details } = await failureOf(work);
    return [code, details.field];
  };
  expect(await told(templates.create(admin, aTemplate("")))).toEqual(["invalid_request", "metadata.name"]);
  expect(await told(templates.create(admin, aTemplate("base")))).toEqual(["conflict", "metadata.name"]);
  expect(await told(templates.create(admin, { ...aTemplate("x"), kind: "Pod" }))).toEqual(["invalid_request", "kind"]);
  expect(await told(templates.create(admin, aTemplate("x", { version: "new" })))).toEqual(["invalid_request", "spec.version"]);
  const unknown = { colour: "blue" } as unknown as Partial<SandboxTemplateSpec>;
  expect(await told(templates.create(admin, aTemplate("x", unknown)))).toEqual(["invalid_request", "spec.colour"]);
  expect(await told(templates.replace(admin, "base", aTemplate("other")))).toEqual(["invalid_request", "metadata.name"]);
  const older = aTemplate("base", { version: "v1.0.0", idleImage: "registry.invalid/idle:1" });
  expect((await told(templates.replace(admin, "base", older)))[0]).toBe("invalid_request");
});

test("a template that a pool names is not deleted: the answer names the pool", async () => {
  await using scene = await ServiceScene.open();
  const templates = templateService(scene);
  await templates.create(admin, aTemplate("base"));
  const pool = { metadata: { namespace: "default", name: "py" }, spec: { replicas: 0, templateName: "base" } };
  scene.cache.pools.remember(await scene.client.create(SandboxPools, pool));
  const failure = await failureOf(templates.delete(admin, "base"));
  expect([failure.code, failure.message]).toEqual(["conflict", expect.stringContaining("default/py")]);
  expect((await templates.get(admin, "base")).metadata.deletionTimestamp).toBeUndefined();
});
