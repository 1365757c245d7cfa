/**
 * The rule that a changed SandboxTemplate has a higher version, in CEL, so that a Kubernetes API server keeps it without a webhook and
 * the embedded store by the same words. CEL knows no semantic versions, so their numbers are compared one by one.
 *
 * A release goes before its own pre-releases. Two pre-releases of one version are in order when the new text is longer or later in the
 * alphabet: that takes every common series (alpha, beta, rc.9, rc.10) as rising, at the price of taking some odd ones too.
 */
import type { CelRule } from "./structural-schema.ts";

/** Fields of the spec that may change without a new version: they are for people, as the docs annotation is, which no rule sees. */
const freeFields: ReadonlySet<string> = new Set(["description"]);

/** For the spec of a kind that has these fields, `version` among them. A spec that never had a version is free. */
export function risingVersionRule(fields: readonly string[]): CelRule {
  const unchanged = fields.filter((field) => !freeFields.has(field)).map(isUnchanged);
  return {
    rule: `(${unchanged.join(" && ")}) || !${hasVersion("oldSelf")} || (${hasVersion("self")} && (${isHigher}))`,
    message: "a changed template needs a higher version, such as v1.2.1 after v1.2.0: pools and Envs tell templates apart by it",
    fieldPath: ".version",
  };
}

function isUnchanged(field: string): string {
  return `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`;
}

function hasVersion(object: string): string {
  return `(has(${object}.version) && ${object}.version != '')`;
}

/** Without what comes after a plus sign, which has no rank. */
const ranked = (object: string): string => `${object}.version.split('+')[0]`;
const core = (object: string): string => `${ranked(object)}.split('-')[0]`;
const number = (object: string, index: number): string => {
  // Only the first can have the v in front.
  const part = `${core(object)}.split('.')[${index}]`;
  return index === 0 ? `int(${part}.startsWith('v') ? ${part}.substring(1) : ${part})` : `int(${part})`;
};
const isPreRelease = (object: string): string => `${ranked(object)}.contains('-')`;

const [major, minor, patch] = [0, 1, 2].map((index) => ({
  above: `${number("self", index)} > ${number("oldSelf", index)}`,
  same: `${number("self", index)} == ${number("oldSelf", index)}`,
})) as [Rank, Rank, Rank];

interface Rank {
  readonly above: string;
  readonly same: string;
}

/** Of two versions with the same numbers. */
const laterOfSameNumbers =
  `${isPreRelease("oldSelf")} && (!${isPreRelease("self")} || ` +
  `size(${ranked("self")}) > size(${ranked("oldSelf")}) || ${ranked("self")} > ${ranked("oldSelf")})`;

const isHigher =
  `${major.above} || (${major.same} && (${minor.above} || (${minor.same} && (${patch.above} || (${patch.same} && (` +
  `${laterOfSameNumbers}))))))`;
