import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import type { ErrorCode } from "#model/error-codes.ts";
import { createOfBuilt } from "./create-built.ts";
import { builder, BuildScene, stranger } from "../../../test/world/build-scene.ts";
import { ServiceError } from "../service-error.ts";

let scene: BuildScene;

beforeEach(async () => {
  scene = await BuildScene.open();
});
afterEach(() => scene[Symbol.asyncDispose]());

const run = (command: string) => ({ type: "RUN", args: [command, ""] });
const signal = new AbortController().signal;

async function codeOf(call: () => unknown): Promise<ErrorCode> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code;
  }
  throw new Error("it was allowed");
}

function messages(view: { readonly templateId: string; readonly buildId: string }): readonly string[] {
  const { templateId: template, buildId } = view;
  return scene.builds.logs(builder, { template, buildId }).map(({ message }) => message.replace(/ \[[0-9a-f]{64}\]$/, ""));
}

describe("a build", () => {
  test("becomes a template and an Env of its owner, with the image of its last step", async () => {
    const built = await scene.build("app", [
      { type: "ENV", args: ["A", "1"] },
      run("one"),
      { type: "WORKDIR", args: ["/srv"] },
      run("two"),
    ]);
    expect(built.status).toBe("ready");
    const { env } = scene.builds.template(builder, "app") ?? { env: "" };
    expect(env).toMatch(/^app-.{8}$/);
    const template = await scene.store.get(SandboxTemplates, { name: env });
    const image = template.spec.template?.spec?.containers[0]?.image;
    expect(scene.machine.layers.has(image ?? "")).toBe(true);
    expect(template.spec.visibility).toEqual({ rules: [{ team: "red" }] });
    expect((await scene.store.get(SandboxEnvs, { namespace: "default", name: env })).metadata.labels).toMatchObject({
      "scheduling.navix.sh/team": "red",
    });
    expect(createOfBuilt(scene.book, builder, { from: "app" })).toEqual({ from: env, image, defaultUser: "user", defaultWorkdir: "/srv" });
    expect(scene.live).toEqual([]);
  });

  test("has the variables in its image that its last steps set, also when these steps were built before", async () => {
    const variables = { type: "ENV", args: ["A", "1"] };
    const variablesOf = (name: string): unknown => {
      const { image } = createOfBuilt(scene.book, builder, { from: name });
      return scene.machine.variables.get(image ?? "");
    };
    await scene.build("more", [run("one"), variables, run("two")]);
    await scene.build("app", [run("one"), variables]);
    expect([variablesOf("more"), variablesOf("app")]).toEqual([{ A: "1" }, { A: "1" }]);
    const layers = scene.machine.layers.size;
    await scene.build("again", [run("one"), variables]);
    expect([variablesOf("again"), scene.machine.layers.size]).toEqual([{ A: "1" }, layers]);
  });

  test("tells each step and what it prints", async () => {
    const built = await scene.build("app", [run("one"), run("two")]);
    expect(messages(built)).toEqual([
      "[base] FROM e2bdev/base (host)",
      "[builder 1/2] RUN one",
      "[builder 1/2] [stdout]: one",
      "[builder 2/2] RUN two",
      "[builder 2/2] [stdout]: two",
    ]);
  });

  test("runs no step whose layer is there, and needs no sandbox where all are", async () => {
    await scene.build("app", [run("one"), run("two")]);
    const count = scene.machine.sandboxes.length;
    const again = await scene.build("app", [run("one"), run("two")]);
    expect(messages(again)).toEqual([
      "CACHED [base] FROM e2bdev/base (host)",
      "CACHED [builder 1/2] RUN one",
      "CACHED [builder 2/2] RUN two",
    ]);
    expect(scene.machine.sandboxes).toHaveLength(count);
    await scene.build("app", [run("one"), run("three")]);
    expect(scene.machine.ran.filter((command) => ["one", "two", "three"].includes(command))).toEqual(["one", "two", "three"]);
    expect(scene.machine.sandboxes.at(-1)?.command.image).toBe("layer-1");
  });

  test("runs what is forced, and all steps after it", async () => {
    await scene.build("app", [run("one"), run("two")]);
    await scene.build("app", [{ ...run("one"), force: true }, run("two")]);
    await scene.build("app", [run("one"), run("two")], { force: true });
    expect(scene.machine.ran.filter((command) => command === "one" || command === "two")).toEqual([
      "one",
      "two",
      "one",
      "two",
      "one",
      "two",
    ]);
  });

  test("that fails says which step, and the next one goes on from the step before", async () => {
    scene.machine.failing.add("two");
    const failed = await scene.build("app", [run("one"), run("two"), run("three")]);
    expect(failed).toMatchObject({
      status: "error",
      reason: { step: "2", message: "failed to run command 'two': exit status 1: it is broken" },
    });
    expect(scene.live).toEqual([]);
    scene.machine.failing.clear();
    expect((await scene.build("app", [run("one"), run("two"), run("three")])).status).toBe("ready");
    expect(scene.machine.ran.filter((command) => command === "one")).toHaveLength(1);
  });

  test("with a step that cannot be meant fails before anything runs", async () => {
    const failed = await scene.build("app", [run("one"), { type: "ENV", args: ["A"] }]);
    expect(failed.reason).toEqual({ step: "2", message: "step 2 (ENV): takes names and values in pairs, not 1 arguments" });
    expect(scene.machine.sandboxes).toEqual([]);
  });

  test("can be started once", async () => {
    const requested = await scene.request("app");
    await scene.start(requested, [run("one")]);
    await scene.over(requested);
    await expect(scene.start(requested, [run("one")])).rejects.toThrow("build is not in waiting state");
  });

  test("ends when a newer one of the same template and tag is started, and goes on beside one of another tag", async () => {
    scene.machine.hanging.add("long");
    const [older, other] = [await scene.request("app"), await scene.request("app:v1")];
    await scene.start(older, [run("long")]);
    await scene.start(other, [run("long")]);
    await scene.untilRan("long");
    const newer = await scene.build("app", [run("one")]);
    expect(newer.status).toBe("ready");
    expect((await scene.over(older)).reason?.message).toContain(`build ${newer.buildId} of the same template and tag is newer`);
    expect(scene.builds.build(builder, { template: "app", buildId: other.buildId }).status).toBe("building");
  });

  test("does not wait for builds of another team, however many and however long those are", async () => {
    scene.maxBuilds = 20;
    scene.machine.hanging.add("long");
    for (const name of ["a", "b", "c", "d", "e"]) await scene.start(await scene.request(name), [run("long")]);
    const caller = { ...builder, team: "other" };
    expect((await scene.build("app", [run("one")], { caller })).status).toBe("ready");
    expect(scene.machine.ran.filter((command) => command === "long")).toHaveLength(3);
  });

  test("waits for its turn behind others of its team, and can be ended while it waits", async () => {
    scene.machine.hanging.add("long");
    const long = await Promise.all(["a", "b", "c", "d"].map((one) => scene.request(one)));
    for (const one of long) await scene.start(one, [run("long")]);
    const waiting = await scene.request("e");
    await scene.start(waiting, [run("one")]);
    await scene.builds.cancel(builder, { buildId: waiting.buildId });
    expect((await scene.over(waiting)).reason?.message).toBe("the build was cancelled");
    expect(scene.builds.build(builder, { buildId: long[0]?.buildId ?? "" }).status).toBe("building");
  });

  test("is refused beyond the limit of its team", async () => {
    scene.maxBuilds = 2;
    await scene.request("a");
    await scene.request("a");
    await expect(scene.request("a")).rejects.toThrow("limit builds");
  });
});

describe("a server that dies during a build", () => {
  test("is followed by one that goes on from the last layer, and ends the sandbox that was left", async () => {
    scene.machine.hanging.add("two");
    const requested = await scene.request("app");
    await scene.start(requested, [run("one"), run("two")]);
    await scene.untilRan("two");
    const [left] = scene.live;
    scene.machine.hanging.clear();
    scene.startAnew();
    expect((await scene.over(requested)).status).toBe("ready");
    expect(scene.machine.ran.filter((command) => command === "one")).toHaveLength(1);
    expect(scene.live).toEqual([]);
    expect(scene.machine.sandboxes.find(({ id }) => id === left)?.isEnded).toBe(true);
  });

  test("again and again ends the build with the reason", async () => {
    scene.machine.hanging.add("one");
    const requested = await scene.request("app");
    await scene.start(requested, [run("one")]);
    for (let time = 1; time <= 5; time++) {
      await scene.untilRan("one");
      scene.machine.ran.length = 0;
      scene.startAnew();
    }
    const { status, reason } = await scene.over(requested);
    expect(status).toBe("error");
    expect(reason?.message).toContain("was begun 5 times");
  });
});

describe("another team", () => {
  test("finds neither template, build nor files", async () => {
    const built = await scene.build("app", [run("one")]);
    const at = { template: built.templateId, buildId: built.buildId };
    expect(scene.builds.template(stranger, "app")).toBeUndefined();
    expect(await codeOf(() => scene.builds.build(stranger, at))).toBe("not_found");
    expect(await codeOf(() => scene.builds.build(stranger, { buildId: built.buildId }))).toBe("not_found");
    expect(await codeOf(() => scene.builds.logs(stranger, at))).toBe("not_found");
    expect(await codeOf(() => scene.builds.uploadLink(stranger, built.templateId, "a".repeat(64)))).toBe("not_found");
    expect(await codeOf(() => scene.builds.assignTags(stranger, "app", ["x"]))).toBe("not_found");
    expect(await codeOf(() => scene.builds.delete(stranger, "app"))).toBe("not_found");
    expect(createOfBuilt(scene.book, stranger, { from: "app" })).toEqual({ from: "app" });
  });

  test("has layers and a template of the same name of its own", async () => {
    await scene.build("app", [run("one")]);
    await scene.build("app", [run("one")], { caller: stranger });
    expect(scene.machine.ran.filter((command) => command === "one")).toHaveLength(2);
    expect(createOfBuilt(scene.book, stranger, { from: "app" }).from).not.toBe(createOfBuilt(scene.book, builder, { from: "app" }).from);
  });

  test("does not have the files of a hash", async () => {
    const hash = "a".repeat(64);
    const [mine, theirs] = [await scene.request("app"), await scene.request("app", stranger)];
    const { token, present } = await scene.builds.uploadLink(builder, mine.templateId, hash);
    expect(present).toBe(false);
    await scene.builds.upload(token, bytes(100), signal);
    expect((await scene.builds.uploadLink(builder, mine.templateId, hash)).present).toBe(true);
    expect((await scene.builds.uploadLink(stranger, theirs.templateId, hash)).present).toBe(false);
  });
});

describe("files for a COPY", () => {
  const hash = (digit: string): string => digit.repeat(64);

  test("need the right to send them", async () => {
    const { templateId } = await scene.request("app");
    const { token } = await scene.builds.uploadLink(builder, templateId, hash("a"));
    const [grant = "", sign = ""] = token.split(".");
    const other = Buffer.from(JSON.stringify(["blue", hash("a"), Date.now() + 10_000])).toString("base64url");
    for (const bad of ["", "x.y", `${other}.${sign}`, `${grant}.`]) {
      expect(await codeOf(() => scene.builds.upload(bad, bytes(1), signal))).toBe("forbidden");
    }
    expect(await codeOf(() => scene.builds.uploadLink(builder, templateId, "../../x"))).toBe("invalid_request");
  });

  test("are taken whole or not at all, and not beyond their size", async () => {
    const { templateId } = await scene.request("app");
    const { token } = await scene.builds.uploadLink(builder, templateId, hash("a"));
    expect(await codeOf(() => scene.builds.upload(token, bytes(2 * 1024 * 1024), signal))).toBe("too_large");
    await expect(scene.builds.upload(token, cutShort(), signal)).rejects.toThrow("the client left");
    expect((await scene.builds.uploadLink(builder, templateId, hash("a"))).present).toBe(false);
  });

  test("of long ago make room for new ones", async () => {
    const { templateId } = await scene.request("app");
    for (const digit of ["a", "b"]) {
      const { token } = await scene.builds.uploadLink(builder, templateId, hash(digit));
      await scene.builds.upload(token, bytes(1000 * 1024), signal);
    }
    expect((await scene.builds.uploadLink(builder, templateId, hash("a"))).present).toBe(false);
    expect((await scene.builds.uploadLink(builder, templateId, hash("b"))).present).toBe(true);
  });

  test("that were not sent fail their step", async () => {
    const failed = await scene.build("app", [{ type: "COPY", args: ["a", "b", "", ""], filesHash: hash("c") }]);
    expect(failed.reason).toEqual({
      step: "1",
      message: "failed to copy 'a' to 'b': its files were not uploaded, or are no longer kept: build again",
    });
  });
});

describe("tags and names", () => {
  test("a tag stands for its build, and another one is created with its image", async () => {
    await scene.build("app:v1", [run("one")]);
    await scene.build("app", [run("two")]);
    const { env } = scene.builds.template(builder, "app") ?? { env: "" };
    expect(createOfBuilt(scene.book, builder, { from: "app" })).toMatchObject({ from: env, image: "layer-2" });
    expect(createOfBuilt(scene.book, builder, { from: "app:v1" })).toMatchObject({ from: env, image: "layer-1" });
    expect(await codeOf(() => createOfBuilt(scene.book, builder, { from: "app:v2" }))).toBe("not_found");
    await scene.builds.assignTags(builder, "app:v1", ["v2", "default"]);
    expect(createOfBuilt(scene.book, builder, { from: "app" }).image).toBe("layer-1");
    expect((await scene.store.get(SandboxTemplates, { name: env })).spec.template?.spec?.containers[0]?.image).toBe("layer-1");
  });

  test("the default tag stays, and the others can be removed", async () => {
    await scene.build("app", [run("one")]);
    await scene.builds.assignTags(builder, "app", ["v1"]);
    expect(await codeOf(() => scene.builds.removeTags(builder, "app", ["default"]))).toBe("invalid_request");
    await scene.builds.removeTags(builder, "app", ["v1"]);
    expect(scene.builds.tags(builder, "app").map(({ tag }) => tag)).toEqual(["default"]);
  });

  test("a template can start from another, with its user, folder and start command", async () => {
    await scene.build("app", [{ type: "USER", args: ["dev"] }], { startCmd: "serve", readyCmd: "ready" });
    await scene.build("child", [run("one")], { from: { template: "app" } });
    const { postStartHooks, defaultUser } = createOfBuilt(scene.book, builder, { from: "child" });
    expect([postStartHooks?.length, defaultUser]).toEqual([2, "dev"]);
  });

  test("a start command that fails is the last phase's failure", async () => {
    scene.machine.failing.add("serve");
    scene.machine.hanging.add("ready");
    const failed = await scene.build("app", [], { startCmd: "serve", readyCmd: "ready" });
    expect(failed.reason).toEqual({ step: "finalize", message: "the start command failed: exit status 1: it is broken" });
  });
});

test("an admin finds a team's template by its id, and not by its bare name", async () => {
  const admin = { role: "admin", team: "", keyId: "a" } as const;
  const { templateId } = await scene.build("app", [run("one")]);
  expect(scene.builds.template(admin, templateId)?.name).toBe("app");
  expect(scene.builds.template(admin, "red/app")?.templateId).toBe(templateId);
  expect(scene.builds.template(admin, "app")).toBeUndefined();
});

test("a deleted template is gone with its objects, builds, logs and layers", async () => {
  const { templateId, buildId } = await scene.build("app", [run("one"), run("two")]);
  const { env } = scene.builds.template(builder, "app") ?? { env: "" };
  await scene.builds.delete(builder, "app");
  expect(scene.builds.template(builder, "app")).toBeUndefined();
  expect(await codeOf(() => scene.builds.build(builder, { template: templateId, buildId }))).toBe("not_found");
  expect(scene.machine.layers.size).toBe(0);
  await expect(scene.store.get(SandboxTemplates, { name: env })).rejects.toThrow(env);
  expect(await codeOf(() => scene.builds.delete(builder, "app"))).toBe("not_found");
});

async function* bytes(count: number): AsyncGenerator<Buffer, void> {
  yield Buffer.alloc(count);
}

async function* cutShort(): AsyncGenerator<Buffer, void> {
  yield Buffer.alloc(10);
  throw new Error("the client left");
}

test("of many builds of a template the newest stay, and those with a tag", async () => {
  const first = await scene.build("app:keep", [run("one")]);
  const second = await scene.build("app", [run("two")]);
  for (let count = 1; count <= 31; count++) await scene.build("app", [run(`more ${count}`)]);
  const left = scene.builds.list(builder, "app").map(({ buildId }) => buildId);
  expect(left.length).toBeLessThanOrEqual(33);
  expect([left.includes(first.buildId), left.includes(second.buildId)]).toEqual([true, false]);
});

test("a team has as many templates as it may have Envs", async () => {
  scene.maxBuilds = 1;
  await scene.build("a", [run("one")]);
  expect(await codeOf(() => scene.request("b"))).toBe("limit_reached");
  await scene.build("a", [run("two")]);
});
