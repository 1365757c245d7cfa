import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { enums, mapType, messages, requestOf, responseOf, services, type Field } from "./schema.ts";

interface Parsed {
  readonly messages: Record<string, Record<string, Field>>;
  readonly enums: Record<string, Record<string, number>>;
  readonly services: Record<string, Record<string, string>>;
}

/** As much of the protobuf language as our files use. */
function parse(text: string): Parsed {
  const found: Parsed = { messages: {}, enums: {}, services: {} };
  const scope: string[] = [];
  let file = "";
  for (const line of text.split("\n").map((own) => own.replace(/\/\/.*/, "").trim())) {
    const [, kind, name] = /^(message|enum|service|oneof) (\w+) \{(\})?$/.exec(line) ?? [];
    if (line.startsWith("package ")) file = line.slice(8, -1);
    const full = [file, ...scope.map((own) => own.split(" ")[1]), name].join(".");
    if (kind === "message") found.messages[full] = {};
    if (kind === "enum") found.enums[full] = {};
    if (kind === "service") found.services[full] = {};
    if (kind !== undefined && !line.endsWith("}")) scope.push(`${kind} ${name}`);
    else if (line === "}") scope.pop();
    else take(found, line, { file, scope });
  }
  return found;
}

interface Where {
  readonly file: string;
  readonly scope: readonly string[];
}

function take(found: Parsed, line: string, where: Where): void {
  const [kind] = where.scope.at(-1)?.split(" ") ?? [];
  const owner = [where.file, ...where.scope.filter((own) => !own.startsWith("oneof")).map((own) => own.split(" ")[1])].join(".");
  if (kind === "service") takeMethod(found, line, owner);
  else if (kind === "enum") takeValue(found, line, owner);
  else if (kind !== undefined) takeField(found, line, { owner, oneof: kind === "oneof" ? where.scope.at(-1)?.split(" ")[1] : undefined });
}

function takeMethod(found: Parsed, line: string, owner: string): void {
  const [, method, input, inType, output, outType] = /^rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);$/.exec(line) ?? [];
  if (method === undefined) return;
  const answers = output === undefined ? "unary" : "server-stream";
  Object.assign(found.services[owner] ?? {}, { [method]: input === undefined ? answers : "client-stream" });
  const file = owner.split(".")[0];
  expect([`${file}.${inType}`, `${file}.${outType}`]).toEqual([requestOf(owner, method), responseOf(owner, method)]);
}

function takeValue(found: Parsed, line: string, owner: string): void {
  const [, value, number] = /^(\w+) = (\d+);$/.exec(line) ?? [];
  if (value !== undefined) Object.assign(found.enums[owner] ?? {}, { [value]: Number(number) });
}

function takeField(found: Parsed, line: string, { owner, oneof }: { owner: string; oneof: string | undefined }): void {
  const [, label, type = "", name, number] = /^(repeated |optional )?([\w.]+|map<string, string>) (\w+) = (\d+);$/.exec(line) ?? [];
  if (name === undefined) return;
  const field: Field = {
    number: Number(number),
    type: type.startsWith("map<") ? mapType : fullType(found, type, owner),
    ...(label === "repeated " ? { repeated: true } : {}),
    ...(label === "optional " ? { optional: true } : {}),
    ...(oneof === undefined ? {} : { oneof }),
  };
  Object.assign(found.messages[owner] ?? {}, { [name]: field });
}

const scalars = new Set(["string", "bool", "bytes", "uint32", "sint32", "int64"]);
/** Names are resolved inside the message first. */
function fullType(found: Parsed, type: string, owner: string): string {
  if (scalars.has(type) || type.includes(".")) return type;
  return `${owner}.${type}` in found.messages ? `${owner}.${type}` : `${owner.split(".")[0]}.${type}`;
}

test("the schema says what the .proto files say", () => {
  const parsed = ["process", "filesystem"].map((name) => parse(readFileSync(join(import.meta.dirname, `${name}.proto`), "utf8")));
  const all = <T>(pick: (file: Parsed) => Record<string, T>) => Object.assign({}, ...parsed.map(pick)) as Record<string, T>;
  expect(messages).toEqual(all((file) => file.messages));
  expect(enums).toEqual(all((file) => file.enums));
  expect(services).toEqual(all((file) => file.services));
});
