/** Field selectors in their text form, read as the API server reads them. A selector that cannot be read is a bad request. */
import { ApiError } from "#kube/api-error.ts";

export interface FieldRequirement {
  readonly key: string;
  readonly op: "=" | "!=";
  readonly value: string;
}

/** The requirements of a field selector, all of which must be met. A comma, an equals sign or a backslash in a value is escaped with a backslash. */
export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  return splitTerms(text)
    .filter((term) => term !== "")
    .map((term) => {
      const parts = /^(?<key>(?:[^\\=!]|\\.|!(?!=))*)(?<op>!=|==?)(?<value>.*)$/s.exec(term)?.groups;
      if (parts === undefined) throw unreadable(`invalid selector: '${text}'; can't understand '${term}'`);
      return { key: parts["key"] ?? "", op: parts["op"] === "!=" ? "!=" : "=", value: unescaped(parts["value"] ?? "") };
    });
}

/** Splits at commas that are not escaped. */
function splitTerms(text: string): readonly string[] {
  return text.match(/(?:\\.|[^\\,]|\\$)+/gs) ?? [];
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(?<escaped>.?)|[,=]/gs, (sequence, escaped?: string) => {
    if (escaped === undefined) throw unreadable(`invalid field selector: unescaped character in value: ${sequence.codePointAt(0)}`);
    if (escaped === "" || !"\\,=".includes(escaped)) throw unreadable(`invalid field selector: invalid escape sequence: ${sequence}`);
    return escaped;
  });
}

function unreadable(message: string): ApiError {
  return new ApiError("BadRequest", message);
}
