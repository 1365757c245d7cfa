import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { apiModel } from "./api-model.ts";
import { generatedSdks } from "./generated-sdks.ts";
import { pythonApi } from "./python-api.ts";
import { PythonTypes } from "./python-types.ts";
import { typescriptApi, typescriptTypes } from "./typescript.ts";

test("the generated parts of the SDKs are current (node tools/generate-sdks.ts)", { timeout: 60_000 }, () => {
  const stale = Object.entries(generatedSdks()).filter(
    ([file, text]) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8") !== text,
  );
  expect(stale.map(([file]) => file)).toEqual([]);
});

const thing = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", description: "Its name." },
    kind: { enum: ["a", "b"], type: "string" },
    parts: { type: "array", items: { type: "object", properties: { from: { type: "integer" } }, required: ["from"] } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    gone: { anyOf: [{ type: "string" }, { type: "null" }] },
  },
};
const ref = { $ref: "#/components/schemas/Thing" };

function documentWith(operation: object, schemas: object = { Thing: thing }): object {
  return { paths: { "/v1/things/{thingId}": { post: operation } }, components: { schemas } };
}

const putThing = {
  operationId: "putThing",
  summary: "Put it",
  parameters: [
    { name: "thingId", in: "path", required: true, schema: { type: "string" } },
    { name: "dryRun", in: "query", required: false, schema: { type: "boolean" } },
    { name: "from", in: "query", required: false, schema: { type: "string" } },
    { name: "idempotency-key", in: "header", required: false, schema: { type: "string" } },
  ],
  requestBody: { required: true, content: { "application/json": { schema: ref } } },
  responses: { "200": { content: { "application/json": { schema: ref } } }, "400": {} },
};

test("a schema is a readonly interface in TypeScript and a typed dictionary in Python", () => {
  const model = apiModel(documentWith(putThing));
  const typescript = typescriptTypes(model).replaceAll(/\s+/g, " ");
  expect(typescript).toContain("/** Its name. */ readonly name: string;");
  expect(typescript).toContain('readonly kind?: "a" | "b";');
  expect(typescript).toContain("readonly parts?: readonly { readonly from: number; }[];");
  expect(typescript).toContain("readonly labels?: Readonly<Record<string, string>>;");
  expect(typescript).toContain("readonly gone?: string | null;");

  const python = new PythonTypes(model).text();
  expect(python).toContain('class Thing(TypedDict):\n    name: str\n    """Its name."""');
  expect(python).toContain('kind: NotRequired[Literal["a", "b"]]');
  expect(python).toContain("parts: NotRequired[list[ThingPartsItem]]");
  expect(python).toContain('ThingPartsItem = TypedDict(\n    "ThingPartsItem",\n    {\n        "from": "int",');
  expect(python).toContain("gone: NotRequired[Union[str, None]]");
});

test("an operation is a method in both languages, with the names that each can have", () => {
  const model = apiModel(documentWith(putThing));
  const typescript = typescriptApi(model);
  expect(typescript).toContain("async putThing({ thingId, dryRun, from, idempotencyKey, body, signal }");
  expect(typescript).toContain("path: `/v1/things/${encodeURIComponent(thingId)}`, query: { dryRun, from }");
  expect(typescript).toContain('"idempotency-key": idempotencyKey');

  const python = pythonApi(model, new PythonTypes(model), "1.2.3");
  const named = "dry_run: bool | None = None, from_: str | None = None, idempotency_key: str | None = None";
  expect(python).toContain(`    def put_thing(self, thing_id: str, body: t.Thing, *, ${named}) -> t.Thing:`);
  expect(python).toContain("    async def put_thing(self,");
  expect(python).toContain('f"/v1/things/{quoted(thing_id)}", query={"dryRun": dry_run, "from": from_}');
  expect(python).toContain('VERSION = "1.2.3"');
});

test("bytes, streams and empty answers are no JSON", () => {
  const answering = (responses: object): string => {
    const model = apiModel(documentWith({ operationId: "go", summary: "Go", responses }));
    return pythonApi(model, new PythonTypes(model), "1");
  };
  expect(answering({ "204": {} })).toContain("def go(self) -> None:");
  expect(answering({ "200": { content: { "application/octet-stream": { schema: { type: "string" } } } } })).toContain("-> bytes:");
  expect(answering({ "200": { content: { "text/event-stream": { schema: { type: "string" } } } } })).toContain("-> OpenStream:");
  expect(answering({ "101": {} })).not.toContain("def go");
});

test("a shape that the SDKs would print wrongly is refused", () => {
  expect(() => apiModel(documentWith(putThing, { Thing: { allOf: [] } }))).toThrow("Thing: the SDKs cannot print allOf");
  const twice = {
    ...putThing,
    parameters: [...putThing.parameters, { name: "body", in: "query", required: false, schema: { type: "string" } }],
  };
  expect(() => apiModel(documentWith(twice))).toThrow("putThing: two of its arguments have one name");
  const unlike = {
    "200": { content: { "application/json": { schema: ref } } },
    "202": { content: { "application/json": { schema: {} } } },
  };
  expect(() => apiModel(documentWith({ ...putThing, responses: unlike }))).toThrow("putThing has answers of several shapes");
});
