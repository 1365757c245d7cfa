import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestStore, type TestStore } from "../../../test/world/bare-store.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { Namespaces, Secrets } from "#model/core-kinds.ts";
import { ensureFirstAdminKey } from "#services/keys/first-admin-key.ts";
import { adminKeySecret, signingKey } from "./cluster-secrets.ts";

const namespace = "agentbox";
let store: TestStore;

beforeEach(async () => {
  store = openTestStore({ kinds: embeddedKindRules() });
  await store.create(Namespaces, { metadata: { name: namespace } });
});

afterEach(() => store.close());

async function stored(name: string, field: string): Promise<string> {
  const { data } = await store.get(Secrets, { namespace, name });
  return Buffer.from(data?.[field] ?? "", "base64").toString();
}

test("processes that start at once have one signing key, and later ones the same", async () => {
  const deps = { client: store, namespace };
  const keys = await Promise.all(Array.from({ length: 5 }, () => signingKey(deps)));
  keys.push(await signingKey(deps));
  expect(new Set(keys.map(publicKeyText)).size).toBe(1);
  expect(await stored("agentbox-signing-key", "private.pem")).toContain("BEGIN PRIVATE KEY");
});

test("processes that start at once make one first admin key, which stands in its Secret", async () => {
  const made = await Promise.all(
    Array.from({ length: 5 }, () =>
      ensureFirstAdminKey({ client: store, namespace, clock: store.clock, keeper: adminKeySecret({ client: store, namespace }) }),
    ),
  );
  const keys = made.filter((key) => key !== undefined);
  expect(keys).toEqual([await stored("agentbox-admin-key", "key")]);
  const kept = (await store.list(Secrets, { namespace })).items.filter(({ type }) => type !== "Opaque");
  expect(kept).toHaveLength(1);
});

test.for([
  ["nothing", ""],
  ["no key", "hello"],
  ["a broken key", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"],
] as const)("a Secret with %s is told where and what to do, and not what is in it", async ([, pem]) => {
  const data = { "private.pem": Buffer.from(pem).toString("base64") };
  await store.create(Secrets, { metadata: { namespace, name: "agentbox-signing-key" }, data });
  const { message } = await signingKey({ client: store, namespace }).then(
    () => expect.unreachable(),
    (failed: unknown) => failed as Error,
  );
  expect(message).toMatch(/Secret agentbox\/agentbox-signing-key holds no private key under private.pem: put back/);
  expect(message).not.toContain("c2VjcmV0");
});
