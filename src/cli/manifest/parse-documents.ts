import { type Document, type DocumentOptions, LineCounter, parseAllDocuments, type ParseOptions, type SchemaOptions, visit } from "yaml";
import type { Json } from "#model/meta.ts";
import { CliError } from "../failure.ts";
import { plainValue } from "../print/yaml-plain.ts";
import type { ManifestFile } from "./find-files.ts";

export type ParsedDocument = { readonly source: string; readonly value: Json } | { readonly source: string; readonly error: CliError };

/**
 * Parses the documents of a JSON or YAML file, without the empty ones. A document that does not parse becomes an error in its place, and the documents
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

/** Most JSON files are one document, and the JSON parser is much faster; what it refuses goes to the YAML parser. */
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
 * The library follows YAML 1.1 literally: a lone `.` is a number, `2026-01-01` a date. So we take only the structure from it, and give unquoted text the
 * meaning that Kubernetes gives it.
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

/** Tags that turn a quoted text into another value. */
const valueTags = new Set(["int", "float", "bool", "null"].map((name) => `tag:yaml.org,2002:${name}`));
