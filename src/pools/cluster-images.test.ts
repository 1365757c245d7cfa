import { expect, test } from "vitest";
import { ImageError } from "#images/image-error.ts";
import type { CommandOptions } from "#images/read-command.ts";
import { Keyring } from "#images/registry/pull-secret.ts";
import type { ResolveOptions } from "#images/resolve-digest.ts";
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient, ObjectKey } from "#kube/object-client.ts";
import type { ServiceAccount } from "#model/cluster-kinds.ts";
import type { Secret } from "#model/core-kinds.ts";
import type { ResourceType } from "#model/resource.ts";
import { recordedLog } from "../../test/world/recorded-log.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { clusterImages } from "./cluster-images.ts";
import type { ImagePuller } from "./pool-images.ts";

const { signal } = new AbortController();
const digest = `sha256:${"a".repeat(64)}` as const;

function dockerConfig(password: string, host = "registry.invalid"): Secret {
  const text = JSON.stringify({ auths: { [host]: { username: "u", password } } });
  return { metadata: {}, type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": base64(text) } };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

const redCheckpoint = "cp-rrrrrrrrrrrrrrrrrrrr";
const openCheckpoint = "cp-oooooooooooooooooooo";

interface Bench {
  readonly objects: Map<string, Secret | ServiceAccount | ApiError>;
  /** What the registry wants to be shown. */
  wanted: string | undefined;
}

function bench(objects: Record<string, Secret | ServiceAccount | ApiError>, more: { hasAccounts?: boolean } = {}) {
  const clock = new SteppedClock();
  const { log, lines } = recordedLog();
  const state: Bench = { objects: new Map(Object.entries(objects)), wanted: undefined };
  const reads: string[] = [];
  const shown: string[][] = [];
  const get = async (type: ResourceType, { namespace, name }: ObjectKey): Promise<unknown> => {
    const key = `${type.plural}/${namespace}/${name}`;
    reads.push(key);
    const found = state.objects.get(key);
    if (found === undefined) throw new ApiError("NotFound", `${key} not found`);
    if (found instanceof ApiError) throw found;
    return found;
  };
  const resolve = async (_image: string, { pullSecrets = [] }: ResolveOptions = {}) => {
    const passwords = new Keyring(pullSecrets).lookup("registry.invalid", "team/app").map(({ password }) => password);
    shown.push(passwords);
    if (state.wanted !== undefined && !passwords.includes(state.wanted))
      throw new ImageError("unauthorized", "the registry wants credentials");
    return { digest };
  };
  // It gives service accounts and secrets, and nothing of another kind is asked for.
  const checkpointTeam = (id: string): string | undefined => ({ [redCheckpoint]: "red", [openCheckpoint]: "" })[id];
  const client = { get } as unknown as Pick<ObjectClient, "get">;
  const command = { entrypoint: ["/entry"], cmd: [] };
  const commandOf = async (image: string, _digest: string, options: CommandOptions = {}) => (await resolve(image, options), command);
  const images = clusterImages({ ...more, checkpointTeam, client, clock, log, resolver: { resolve }, reader: { commandOf } });
  const ask = (puller?: ImagePuller) => images.resolve("registry.invalid/team/app:1", { signal, puller });
  const askCommand = (puller?: ImagePuller) => images.commandOf("registry.invalid/team/app:1", digest, { signal, puller });
  const askImage = (image: string, puller?: ImagePuller) => images.resolve(image, { signal, puller });
  return { clock, state, reads, shown, lines, ask, askCommand, askImage };
}

test("registries are shown the secrets that the pod names, and not those of its account", async () => {
  const { ask, shown } = bench({
    "secrets/ns/mine": dockerConfig("mine"),
    "secrets/ns/theirs": dockerConfig("theirs"),
    "serviceaccounts/ns/default": { metadata: {}, imagePullSecrets: [{ name: "theirs" }] },
  });
  await ask({ namespace: "ns", imagePullSecrets: [{ name: "mine" }] });
  await ask({ namespace: "ns" });
  await ask({ namespace: "other" });
  await ask();
  expect(shown).toEqual([["mine"], ["theirs"], [], []]);
});

test("what an image runs is asked for with the same secrets, and again with newer ones", async () => {
  const puller = { namespace: "ns", imagePullSecrets: [{ name: "mine" }] };
  const { askCommand, state, shown } = bench({ "secrets/ns/mine": dockerConfig("first") });
  await expect(askCommand(puller)).resolves.toEqual({ entrypoint: ["/entry"], cmd: [] });
  state.wanted = "second";
  state.objects.set("secrets/ns/mine", dockerConfig("second"));
  await expect(askCommand(puller)).resolves.toEqual({ entrypoint: ["/entry"], cmd: [] });
  expect(shown).toEqual([["first"], ["first"], ["second"]]);
});

test("an image that must be public is asked for without secrets, and a refusal says why", async () => {
  const puller = { namespace: "ns", imagePullSecrets: [{ name: "mine" }], choice: "public" as const };
  const { ask, askCommand, reads, shown, state } = bench({ "secrets/ns/mine": dockerConfig("mine") });
  await ask(puller);
  await askCommand(puller);
  expect([reads, shown]).toEqual([[], [[], []]]);
  state.wanted = "mine";
  await expect(ask(puller)).rejects.toThrow(/wants credentials; the pool's pull secrets are not for this repository$/);
  await expect(ask({ ...puller, choice: "access" })).resolves.toEqual({ digest });
});

test("where there are no service accounts none is asked for", async () => {
  const { ask, reads } = bench({}, { hasAccounts: false });
  await ask({ namespace: "ns" });
  expect(reads).toEqual([]);
});

test("the older form of a secret is understood", async () => {
  const text = JSON.stringify({ "https://registry.invalid/v1/": { auth: base64("u:old") } });
  const { ask, shown } = bench({
    "secrets/ns/old": { metadata: {}, type: "kubernetes.io/dockercfg", data: { ".dockercfg": base64(text) } },
    "serviceaccounts/ns/runner": { metadata: {}, imagePullSecrets: [{ name: "old" }, {}] },
  });
  await ask({ namespace: "ns", serviceAccountName: "runner" });
  expect(shown).toEqual([["old"]]);
});

test("what is not there, may not be read or makes no sense is left out, and nothing of it is told", async () => {
  const broken = { metadata: {}, type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": base64('{"auths": hunter2}') } };
  const halfway = { ...broken, data: { ".dockerconfigjson": base64('{"auths":{"registry.invalid":{"auth":"aHVudGVyMg=="}}}') } };
  const { ask, shown, lines } = bench({
    "secrets/ns/broken": broken,
    "secrets/ns/halfway": halfway,
    "secrets/ns/hidden": new ApiError("Forbidden", "no"),
    "secrets/ns/opaque": { metadata: {}, type: "Opaque", data: { password: base64("hunter2") } },
    "secrets/ns/good": dockerConfig("good"),
  });
  const names = ["broken", "halfway", "hidden", "opaque", "gone", "good"];
  await expect(ask({ namespace: "ns", imagePullSecrets: names.map((name) => ({ name })) })).resolves.toEqual({ digest });
  expect(shown).toEqual([["good"]]);
  expect(lines.map(({ name }) => String(name)).toSorted((a, b) => a.localeCompare(b))).toEqual([
    "broken",
    "gone",
    "halfway",
    "hidden",
    "opaque",
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/hunter2|aHVudGVyMg/);
});

test("secrets are read once a minute, and again when the registry does not take them", async () => {
  const puller = { namespace: "ns", imagePullSecrets: [{ name: "mine" }] };
  const { clock, ask, state, reads, shown } = bench({ "secrets/ns/mine": dockerConfig("first") });
  await ask(puller);
  await ask(puller);
  expect(reads).toHaveLength(1);
  await clock.step(61_000);
  await ask(puller);
  expect(reads).toHaveLength(2);
  state.wanted = "second";
  state.objects.set("secrets/ns/mine", dockerConfig("second"));
  await expect(ask(puller)).resolves.toEqual({ digest });
  expect(shown.slice(-2)).toEqual([["first"], ["second"]]);
  state.wanted = "third";
  await expect(ask(puller)).rejects.toThrow("the registry wants credentials");
});

test("a server that does not answer is not taken for one without secrets", async () => {
  const { ask, state } = bench({ "secrets/ns/mine": new ApiError("Unreachable", "no answer") });
  const puller = { namespace: "ns", imagePullSecrets: [{ name: "mine" }] };
  await expect(ask(puller)).rejects.toThrow("no answer");
  state.objects.set("secrets/ns/mine", dockerConfig("mine"));
  await expect(ask(puller)).resolves.toEqual({ digest });
});

test("the image of a checkpoint is there for its team alone, whatever names it, and no registry is asked for anyone else", async () => {
  const { askImage, shown } = bench({});
  const image = (id: string): string => `registry.invalid/checkpoints/${id}@${digest}`;
  await expect(askImage(image(redCheckpoint), { namespace: "ns", teams: ["blue", "red"] })).resolves.toEqual({ digest });
  await expect(askImage(image(openCheckpoint), { namespace: "ns" })).resolves.toEqual({ digest });
  const asked = shown.length;
  const refused = { code: "not_found", message: expect.stringContaining("there is no image") };
  await expect(askImage(image(redCheckpoint), { namespace: "ns", teams: ["blue"] })).rejects.toMatchObject(refused);
  await expect(askImage(image(redCheckpoint), { namespace: "ns" })).rejects.toMatchObject(refused);
  await expect(askImage(image(redCheckpoint))).rejects.toMatchObject(refused);
  await expect(askImage(image("cp-nnnnnnnnnnnnnnnnnnnn"), { namespace: "ns", teams: ["red"] })).rejects.toMatchObject(refused);
  expect(shown).toHaveLength(asked);
});
