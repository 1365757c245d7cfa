/** What requests that come together, users of one team and builds that are over leave of each other. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { builder, BuildScene } from "../../../test/world/build-scene.ts";

let scene: BuildScene;

beforeEach(async () => {
  scene = await BuildScene.open();
});
afterEach(() => scene[Symbol.asyncDispose]());

const run = (command: string) => ({ type: "RUN", args: [command, ""] });
const never = async (): Promise<void> => {};

test("requests at once do not pass the limit of their team, and have one template of a new name", async () => {
  scene.maxBuilds = 2;
  const made = await Promise.allSettled(Array.from({ length: 6 }, () => scene.request("app")));
  expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  expect(scene.builds.templates(builder)).toHaveLength(1);
});

test("builds that are asked for and cancelled do not add up", async () => {
  for (let count = 0; count < 40; count++) {
    const { buildId } = await scene.request("app");
    await scene.builds.cancel(builder, { buildId });
  }
  expect(scene.builds.list(builder).length).toBeLessThanOrEqual(30);
});

test("files of a user are not those of another user of the team, under the same hash", async () => {
  const [ann, bob] = [
    { ...builder, user: "ann" },
    { ...builder, user: "bob" },
  ];
  const hash = "a".repeat(64);
  const [anns, bobs] = [await scene.request("app", ann), await scene.request("app", bob)];
  const { token } = await scene.builds.uploadLink(ann, anns.templateId, hash);
  await scene.builds.upload(token, content("ann's"), new AbortController().signal);
  expect((await scene.builds.uploadLink(ann, anns.templateId, hash)).present).toBe(true);
  expect((await scene.builds.uploadLink(bob, bobs.templateId, hash)).present).toBe(false);
  expect(await scene.uploads.find({ team: "red", user: "bob", hash })).toBeUndefined();
  expect(await scene.uploads.find({ team: "red", hash })).toBeUndefined();
});

test("a tag that there is not cannot be passed on, whatever it is called", async () => {
  await scene.build("app", [run("one")]);
  await expect(scene.builds.assignTags(builder, "app:constructor", ["x"])).rejects.toMatchObject({ code: "not_found" });
  expect(scene.builds.tags(builder, "app").map(({ tag }) => tag)).toEqual(["default"]);
});

test("a template has a bounded number of tags", async () => {
  await scene.build("app", [run("one")]);
  const tags = Array.from({ length: 199 }, (_, n) => `t${n}`);
  await scene.builds.assignTags(builder, "app", tags);
  await expect(scene.builds.assignTags(builder, "app", ["more"])).rejects.toMatchObject({ code: "limit_reached" });
  await expect(scene.request("app:more")).rejects.toMatchObject({ code: "limit_reached" });
  await scene.builds.assignTags(builder, "app:t7", ["t8"]);
});

test("a build that cannot be published fails, and its tags stand for what they stood for before", async () => {
  const good = await scene.build("app:old", [run("one")]);
  const { env = "" } = scene.book.template(good.templateId) ?? {};
  const { metadata, ...rest } = await scene.store.get(SandboxTemplates, { name: env });
  await scene.store.update(SandboxTemplates, { ...rest, metadata: { ...metadata, annotations: {} } });
  const requested = await scene.builds.request(builder, { name: "app", tags: ["old", "new"] });
  await scene.start(requested, [run("two")]);
  expect((await scene.over(requested)).status).toBe("error");
  expect(scene.builds.tags(builder, "app").map(({ tag, buildId }) => [tag, buildId])).toEqual([["old", good.buildId]]);
});

test("variables that double each other fail their step", async () => {
  const doubling = Array.from({ length: 40 }, () => ({ type: "ENV", args: ["A", "$A$A"] }));
  const failed = await scene.build("app", [{ type: "ENV", args: ["A", "xx"] }, ...doubling]);
  expect(failed.status).toBe("error");
  expect(failed.reason?.message).toContain("the variables of a build");
});

test("what a build was asked is forgotten when it is over, because it may hold secrets", async () => {
  const good = await scene.build("app", [run("one")]);
  scene.machine.failing.add("two");
  const bad = await scene.build("app", [run("two")]);
  for (const { buildId } of [good, bad]) expect(scene.book.build(buildId)).not.toHaveProperty("request");
});

test("a template that no step made different from its base outlives the base", async () => {
  await scene.build("app", [run("one")]);
  await scene.build("child", [], { from: { template: "app" } });
  await scene.builds.delete(builder, "app");
  expect([...scene.machine.layers.keys()]).toEqual(["layer-1"]);
  await scene.builds.delete(builder, "child");
});

test("a build that was asked for while its template was deleted goes with the next sweep", async () => {
  const { buildId } = await scene.request("app");
  const build = scene.book.build(buildId);
  if (build === undefined) throw new Error("no build");
  await scene.book.addBuild({ ...build, buildId: "00000000-0000-0000-0000-000000000000", templateId: "gone" });
  await scene.shelf.sweep(never);
  expect(scene.builds.list(builder).map((one) => one.buildId)).toEqual([buildId]);
});

test("a template that cannot be removed keeps no other", async () => {
  for (const name of ["a", "b"]) {
    const { templateId } = await scene.build(name, [run(name)]);
    await scene.book.changeTemplate(templateId, (template) => ({ ...template, isDeleted: true }));
  }
  scene.machine.stuckLayers.add("layer-1");
  await expect(scene.shelf.sweep(never)).rejects.toThrow("could not be removed");
  expect([...scene.book.templates()].map(({ name }) => name)).toEqual(["a"]);
  scene.machine.stuckLayers.clear();
  await scene.shelf.sweep(never);
  expect([...scene.book.templates()]).toEqual([]);
});

async function* content(text: string): AsyncGenerator<Buffer, void> {
  yield Buffer.from(text);
}
