/**
 * YAML as users of kubectl know it: block style, keys in order, lists not indented under their key, plain text where that is safe. Texts that
 * some reader of YAML takes for something else are quoted, by the rules with which manifests are read (yaml-plain.ts).
 */
import { Document, Scalar, visit } from "yaml";
import { needsQuotes } from "./yaml-plain.ts";

export function yamlText(value: unknown): string {
  const document = new Document(value, { version: "1.1", aliasDuplicateObjects: false, sortMapEntries: true });
  visit(document, {
    Scalar: (key, node) => {
      if (typeof node.value === "string" && mustBeQuoted(node.value, key === "key")) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  const text = document.toString({ indentSeq: false, lineWidth: 0, singleQuote: true });
  // Texts with such characters are quoted, and the library leaves them as they are there.
  return text.replaceAll(new RegExp(unseen, "gu"), (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Control characters would reach the terminal, and some of the others are line ends to a reader of YAML. */
const unseen = /[^\n\u0020-\u007e\u00a0-\u2027\u2030-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u;

function mustBeQuoted(text: string, isKey: boolean): boolean {
  return needsQuotes(text) || unseen.test(text) || (isKey && text.includes("\n"));
}
