import { expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { createFirstObjects } from "./first-objects.ts";

function emptyStore() {
  return openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: new SteppedClock() });
}

const names = (list: { readonly items: readonly { readonly metadata: { readonly name?: string } }[] }): string[] =>
  list.items.map(({ metadata }) => metadata.name ?? "");

test("a new installation has the templates and pools that the SDKs ask for", async () => {
  using store = emptyStore();
  await createFirstObjects(store);
  expect(names(await store.list(SandboxTemplates))).toEqual(["base", "code-interpreter-v1"]);
  expect(names(await store.list(SandboxPools))).toEqual(["base", "code-interpreter-v1"]);
});

test("what somebody deleted does not come back", async () => {
  using store = emptyStore();
  await createFirstObjects(store);
  await store.delete(SandboxPools, { namespace: "default", name: "code-interpreter-v1" });
  await createFirstObjects(store);
  expect(names(await store.list(SandboxPools))).toEqual(["base"]);
});

test("an installation from before the code interpreter gets it once, and nothing else again", async () => {
  using store = emptyStore();
  const made = "SandboxTemplate base, SandboxPool default/base";
  await store.create(ConfigMaps, { metadata: { namespace: "kube-system", name: "agentbox-first-objects" }, data: { made } });
  await createFirstObjects(store);
  expect(names(await store.list(SandboxPools))).toEqual(["code-interpreter-v1"]);
  await store.delete(SandboxPools, { namespace: "default", name: "code-interpreter-v1" });
  await createFirstObjects(store);
  expect(names(await store.list(SandboxPools))).toEqual([]);
});
