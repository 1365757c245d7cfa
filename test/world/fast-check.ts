/**
 * What tests get for `fast-check` (vitest.config.ts): the same cases in every run, so that a change that lands does not hang on a draw of
 * lots. New cases are looked for on purpose: `make explore`.
 */
import fc from "../../node_modules/fast-check/lib/fast-check.js";

const { AGENTBOX_PROPERTY_SEED: seed = "20261116", AGENTBOX_PROPERTY_RUNS: runs } = process.env;
fc.configureGlobal({
  ...(seed === "random" ? {} : { seed: Number(seed) }),
  ...(runs === undefined ? {} : { numRuns: Number(runs) }),
});

export * from "../../node_modules/fast-check/lib/fast-check.js";
export default fc;
