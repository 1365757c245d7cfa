import { type Document, type DocumentOptions, LineCounter, parseAllDocuments, type ParseOptions, type SchemaOptions, visit } from "yaml";
import type { Json } from "#model/meta.ts";
import { CliError } from "../failure.ts";
import { plainValue } from "../print/yaml-plain.ts";
import type { ManifestFile } from "./find-files.ts";

export type ParsedDocument = { readonly source: string; readonly value: Json } | { readonly source: string; readonly error: CliError };

/**
 * The documents of a file, JSON or YAML, without the empty ones. A document that does not parse is an error in its place, and those
 * after it are still read.
 */
export function parseDocuments({ source, text }: ManifestFile): readonly ParsedDocument[] {
  const json = text.trimStart().startsWith("{") ? wholeJson(text) : undefined;
  if (json !== undefined) return [{ source, value: json }];
  const lines = new LineCounter();
  const documents = parseAllDocuments(text.replace(/^\uFEFF/, ""), { ...yamlOptions, lineCounter: lines });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => readDocument(source, document, lines));
}

/** Most JSON files are one document, and the parser of JSON is much the faster one; what it does not take is left to YAML's. */
function wholeJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function readDocument(source: string, document: Document.Parsed, lines: LineCounter): readonly ParsedDocument[] {
  const [problem] = document.errors;
  if (problem !== undefined) {
    const { line } = lines.linePos(problem.pos[0]);
    const message = `error parsing ${source}: error converting YAML to JSON: yaml: line ${line}: ${problem.message}`;
    return [{ source, error: new CliError(message) }];
  }
  giveMeaning(document);
  try {
    const value = document.toJS() as Json | undefined;
    return value === null || value === undefined ? [] : [{ source, value }];
  } catch (error) {
    // An alias without its anchor, or too many of them.
    return [{ source, error: new CliError(`error parsing ${source}: error converting YAML to JSON: yaml: ${(error as Error).message}`) }];
  }
}

/**
 * The library would read YAML 1.1 by the letter: a lone `.` as a number, `2026-01-01` as a date. So it is asked for the structure only, and
 * unquoted text gets the meaning that Kubernetes gives it.
 */
const yamlOptions: ParseOptions & DocumentOptions & SchemaOptions = { schema: "failsafe", merge: true, prettyErrors: false };

function giveMeaning(document: Document.Parsed): void {
  visit(document, {
    Scalar: (_key, node) => {
      const plain = node.type === "PLAIN" && node.tag === undefined;
      if ((plain && node.source !== "<<") || valueTags.has(node.tag ?? "")) node.value = plainValue(node.source ?? "");
    },
  });
}

/** Tags by which a quoted text can be made a value. */
const valueTags = new Set(["int", "float", "bool", "null"].map((name) => `tag:yaml.org,2002:${name}`));
