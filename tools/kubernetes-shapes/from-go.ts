/** Reads from the Go sources of the API how each field is written: the modules that the API server of `tools/kubernetes-bed` is built from. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { GoFields, OpenApiSchema } from "./recorded-shapes.ts";

const module = fileURLToPath(new URL("../kubernetes-bed/kubernetes", import.meta.url));

/** Where in Go the types of a package are, by the beginning of their names in OpenAPI. */
const packages: Readonly<Record<string, readonly [module: string, folder: string]>> = {
  "io.k8s.api.core.v1.": ["k8s.io/api", "core/v1"],
  "io.k8s.api.coordination.v1.": ["k8s.io/api", "coordination/v1"],
  "io.k8s.apimachinery.pkg.apis.meta.v1.": ["k8s.io/apimachinery", "pkg/apis/meta/v1"],
};

interface GoField {
  /** Empty for a type that is embedded. */
  readonly json: string;
  readonly type: string;
  /** When the field is left out: its JSON options. */
  readonly omits: "never" | "empty" | "zero";
}

type GoStructs = ReadonlyMap<string, readonly GoField[]>;

export function goFieldsOf(schemas: Readonly<Record<string, OpenApiSchema>>): Readonly<Record<string, GoFields>> {
  const structs = new Map(
    Object.entries(packages).map(([prefix, [name, folder]]) => [prefix, goStructs(join(moduleFolder(name), folder))]),
  );
  const found: Record<string, GoFields> = {};
  for (const [name, { properties }] of Object.entries(schemas)) {
    if (properties === undefined) continue;
    const prefix = name.slice(0, name.lastIndexOf(".") + 1);
    const known = structs.get(prefix);
    if (known === undefined) throw new Error(`from-go.ts does not say where the Go types of ${prefix} are`);
    found[name] = fieldsOf(name.slice(prefix.length), Object.keys(properties), known);
  }
  return found;
}

function moduleFolder(name: string): string {
  return execFileSync("go", ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", name], { cwd: module, encoding: "utf8" }).trim();
}

function fieldsOf(struct: string, names: readonly string[], structs: GoStructs): GoFields {
  const fields = new Map(allFields(struct, structs).map((field) => [field.json, field]));
  const missing = names.find((name) => !fields.has(name) && name !== "kind" && name !== "apiVersion");
  if (missing !== undefined) throw new Error(`the Go type ${struct} has no field ${missing}`);
  const known = names.flatMap((name) => fields.get(name) ?? []);
  const pointers = known.filter(({ type }) => type.startsWith("*")).map(({ json }) => json);
  const always = known.filter((field) => isAlways(field, structs)).map(({ json }) => json);
  return { ...(pointers.length > 0 && { pointers }), ...(always.length > 0 && { always }) };
}

function allFields(struct: string, structs: GoStructs): readonly GoField[] {
  const fields = structs.get(struct);
  if (fields === undefined) throw new Error(`there is no Go type ${struct}`);
  return fields.flatMap((field) => (field.json === "" ? (structs.has(field.type) ? allFields(field.type, structs) : []) : [field]));
}

/** Go's `omitempty` leaves no struct out. Empty lists and maps are null at most, which is the same as not being there. */
function isAlways({ type, omits }: GoField, structs: GoStructs): boolean {
  if (omits === "zero" || /^[*[]|^map\[/.test(type)) return false;
  return omits === "never" || structs.has(type) || /^(?:metav1\.|resource\.)?(?:Time|MicroTime|Quantity|ObjectMeta)$/.test(type);
}

/** The structs of a package, by name. The sources are formatted by gofmt, so a field is one line. */
function goStructs(folder: string): GoStructs {
  const structs = new Map<string, GoField[]>();
  for (const file of readdirSync(folder).filter((one) => one.endsWith("types.go"))) {
    let fields: GoField[] = [];
    for (const line of readFileSync(join(folder, file), "utf8").split("\n")) {
      const struct = /^type (\w+) struct \{/.exec(line)?.[1];
      if (struct !== undefined) structs.set(struct, (fields = []));
      const field = goField(line);
      if (field !== undefined) fields.push(field);
    }
  }
  return structs;
}

function goField(line: string): GoField | undefined {
  const [, type, json, options = ""] = /^\t(?:\w+\s+)?(\S+)\s+`.*json:"([^",]*)((?:,\w+)*)"/.exec(line) ?? [];
  if (type === undefined || json === undefined) return undefined;
  const omits = options.includes("omitempty") ? "empty" : "never";
  return { json, type, omits: options.includes("omitzero") ? "zero" : omits };
}
