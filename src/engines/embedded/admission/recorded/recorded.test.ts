import { describe, expect, test } from "vitest";
import type { ResourceType } from "#model/resource.ts";
import { embeddedKindRules } from "../all-rules.ts";
import { customKindRules } from "../custom-kind-rules.ts";
import type { KindRules } from "../kind-rules.ts";
import { createAnswer, recorded, updateAnswer } from "./replay.ts";

const rulesByKind = new Map(embeddedKindRules().map((rules) => [rules.resource.kind, rules]));

function rulesOf(kind: string | undefined): KindRules {
  const rules = rulesByKind.get(kind ?? "");
  if (rules === undefined) throw new Error(`no rules for ${kind}`);
  return rules;
}

describe("a pod is taken or refused as by an API server", () => {
  test.each(recorded("pods.jsonl"))("$name", ({ object, answer }) => {
    expect(createAnswer(rulesOf("Pod"), object)).toEqual(answer);
  });
});

describe("other kinds of Kubernetes are taken or refused as by an API server", () => {
  const creates = recorded("kinds.jsonl").map((create) => ({ kind: create.object.kind, ...create }));
  test.each(creates)("$kind: $name", ({ kind, object, answer }) => {
    expect(createAnswer(rulesOf(kind), object)).toEqual(answer);
  });
});

describe("updates are taken or refused as by an API server", () => {
  const updates = recorded("updates.jsonl").flatMap(({ current, cases }) => cases.map((update) => ({ current, ...update })));
  test.each(updates)("$name", ({ current, answer, ...update }) => {
    expect(updateAnswer(rulesOf(current.kind), current, { ...update, answer })).toEqual(answer);
  });
});

describe.each(recorded("custom-kinds.jsonl"))("objects under the CustomResourceDefinition $kind", (recording) => {
  const { kind, schema, scale, creates, updates } = recording;
  const plural = `${kind.toLowerCase()}s`;
  const resource: ResourceType = {
    group: "recorded.dev",
    version: "v1",
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames: [],
    namespaced: true,
    statusSubresource: true,
    ...(scale !== undefined && { scale }),
  };
  const rules = customKindRules({ resource, schema, printerColumns: [] });

  test.skipIf(creates.length === 0).each(creates)("$name", ({ object, answer }) => {
    expect(createAnswer(rules, object)).toEqual(answer);
  });

  const allUpdates = updates.flatMap(({ current, cases }) => cases.map((update) => ({ current, ...update })));
  test.skipIf(allUpdates.length === 0).each(allUpdates)("update: $name", (update) => {
    expect(updateAnswer(rules, update.current, update)).toEqual(update.answer);
  });
});
