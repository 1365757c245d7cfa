import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { docsFor } from "./template-docs.ts";

const reader = { caller: { role: "tenant", team: "red", user: "ann", keyId: "k" }, apiUrl: "https://box.test" } as const;

function written(docs?: string): SandboxTemplate {
  return { metadata: { name: "py", annotations: docs === undefined ? {} : { [annotationKeys.docs]: docs } }, spec: {} };
}

test("placeholders are filled for the reader, and everything else between braces stays", () => {
  const docs = "# {{template}}\ncurl {{ apiUrl }}/v1/sandboxes # {{team}}/{{user}}\n{{ helm.value }} {{unknown}}";
  expect(docsFor(written(docs), reader)).toBe("# py\ncurl https://box.test/v1/sandboxes # red/ann\n{{ helm.value }} {{unknown}}");
});

test("what is filled in is not looked through again", () => {
  expect(docsFor(written("{{team}}"), { ...reader, caller: { ...reader.caller, team: "{{user}}" } })).toBe("{{user}}");
});

test("a template without docs, or with empty ones, has none", () => {
  expect([docsFor(written(), reader), docsFor(written(""), reader)]).toEqual([undefined, undefined]);
});
