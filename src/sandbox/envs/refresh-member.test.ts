import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "#model/meta.ts";
import { aMember, shellEnv, shellTemplate } from "../../../test/world/env-objects.ts";
import { difference, planRefresh } from "./refresh-member.ts";
import { renderPool } from "#sandbox/pools/render-pool.ts";

const at = (version: string, image: string) =>
  renderPool({
    env: shellEnv(),
    member: aMember("shell-a"),
    template: shellTemplate({ version, template: { spec: { containers: [{ name: "main", image }] } } }),
  });

test("a refresh says which fields change, and keeps the replicas", () => {
  const before = at("v1.0.0", "py:3");
  const member = aMember("shell-a", {}, { metadata: before.metadata, spec: { ...before.spec, replicas: 7 } });
  const plan = planRefresh(member, at("v1.1.0", "py:4"));
  expect(plan.changes).toEqual([
    { field: "metadata.annotations[agentbox.navix.sh/template-version]", from: "v1.0.0", to: "v1.1.0" },
    { field: "spec.template.spec.containers[0].image", from: "py:3", to: "py:4" },
  ]);
  expect(plan.member.spec?.replicas).toBe(7);
  expect(planRefresh(plan.member, at("v1.1.0", "py:4")).changes).toEqual([]);
});

test("there is a change exactly where two values differ", () => {
  const json = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>("a", 1, true),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("x", "y", "z.w"), tie("value")),
    ),
  })).value;
  fc.assert(
    fc.property(json, json, (from, to) => {
      expect(difference(from, from, "spec")).toEqual([]);
      const changes = difference(from, to, "spec");
      expect(changes.length > 0).toBe(JSON.stringify(sorted(from)) !== JSON.stringify(sorted(to)));
      expect(new Set(changes.map(({ field }) => field)).size).toBe(changes.length);
    }),
  );
});

function sorted(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
