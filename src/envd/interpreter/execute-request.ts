/** Validates requests of clients. Pure. */
import { type Language, languageOf, languages } from "./languages.ts";

export interface ExecuteRequest {
  readonly code: string;
  readonly env: Readonly<Record<string, string>>;
  /** Where to run: in a given context, or in the default context of a language. */
  readonly in: { readonly contextId: string } | { readonly language: Language };
}

export interface ContextRequest {
  readonly language: Language;
  readonly cwd: string | undefined;
}

/** The request, or an error message. */
export function parseExecute(body: unknown): ExecuteRequest | string {
  if (!isObject(body)) return "the body must be a JSON object";
  const { code, context_id: contextId, language } = body;
  const env = body["env_vars"] ?? {};
  if (typeof code !== "string") return "code must be a text";
  if (!isObject(env) || !Object.values(env).every((value) => typeof value === "string")) return "env_vars must be an object of texts";
  const variables = env as Readonly<Record<string, string>>;
  if (Object.entries(variables).some(([name, value]) => name === "" || /[=\0]/.test(name) || value.includes("\0"))) {
    return "names in env_vars are not empty and without =, and neither they nor their values have zero bytes";
  }
  if (isGiven(contextId) && isGiven(language)) return "Only one of context_id or language can be provided";
  if (isGiven(contextId)) return typeof contextId === "string" ? { code, env: variables, in: { contextId } } : "context_id must be a text";
  const known = parseLanguage(language);
  return known.isKnown ? { code, env: variables, in: { language: known.language } } : known.problem;
}

export function parseContext(body: unknown): ContextRequest | string {
  if (!isObject(body)) return "the body must be a JSON object";
  const known = parseLanguage(body["language"]);
  if (!known.isKnown) return known.problem;
  const { cwd } = body;
  if (isGiven(cwd) && (typeof cwd !== "string" || cwd.includes("\0"))) return "cwd must be a path";
  return { language: known.language, cwd: typeof cwd === "string" ? cwd : undefined };
}

type KnownLanguage = { readonly isKnown: true; readonly language: Language } | { readonly isKnown: false; readonly problem: string };

function parseLanguage(value: unknown): KnownLanguage {
  if (!isGiven(value)) return { isKnown: true, language: "python" };
  const language = typeof value === "string" ? languageOf(value) : undefined;
  if (language !== undefined) return { isKnown: true, language };
  return { isKnown: false, problem: `the language ${JSON.stringify(value)} is not known here; there are ${languages.join(", ")}` };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
