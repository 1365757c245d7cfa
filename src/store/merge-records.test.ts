import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aLiveRecord, aRecord, at } from "../../test/history/records.ts";
import { sandboxStopReasons } from "#model/keys.ts";
import { isTerminalStatus, liveSandboxStatuses, type SandboxRecord } from "#model/sandbox-record.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { mergeRecords } from "./merge-records.ts";

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const words = fc.constantFrom("x", "y");
const texts = fc.dictionary(fc.constantFrom("k", "l"), words, { maxKeys: 2 });

/** A record about sandbox `s` of one owner, in one of two lives. */
const anyRecord: fc.Arbitrary<SandboxRecord> = fc
  .record({
    life: fc.constantFrom(at(0), at(100)),
    end: fc.option(fc.record({ status: fc.constantFrom(...sandboxStopReasons), terminatedAt: fc.constantFrom(at(200), at(201)) }), {
      nil: undefined,
    }),
    alive: fc.constantFrom(...liveSandboxStatuses),
    failure: fc.record({ failureReason: maybe(words), failureMessage: maybe(words), exitCode: maybe(fc.nat(2)) }),
    rest: fc.record({ startedAt: maybe(fc.constant(at(1))), containerId: maybe(words), node: maybe(words), labels: maybe(texts) }),
    metadata: texts,
    containerImages: texts,
  })
  .map(({ life, end, alive, failure, rest, metadata, containerImages }) => {
    const { startedAt: _, containerId: __, node: ___, ...plain } = aLiveRecord("s", { claimedAt: life, metadata, containerImages });
    const ending = end === undefined ? { status: alive } : { ...end, stopReason: end.status, ...withoutUndefined(failure) };
    return { ...plain, ...withoutUndefined(rest), ...ending };
  });

/** As far as it is known. */
const endOf = ({ status, terminatedAt, stopReason, failureReason, failureMessage, exitCode }: SandboxRecord) =>
  withoutUndefined({ status, terminatedAt, stopReason, failureReason, failureMessage, exitCode });
const hasEnded = (record: SandboxRecord) => isTerminalStatus(record.status);
const merged = (records: readonly SandboxRecord[]) => records.reduce((stored, incoming) => mergeRecords(stored, incoming));

describe("merging", () => {
  test("a record with itself, or again with what it holds already, changes nothing", () => {
    fc.assert(
      fc.property(anyRecord, anyRecord, (a, b) => {
        expect(mergeRecords(a, a)).toEqual(a);
        const once = mergeRecords(a, b);
        expect(mergeRecords(once, b)).toEqual(once);
        expect(mergeRecords(once, once)).toEqual(once);
      }),
    );
  });

  test("an end that is stored stays as it is, whatever comes later about the same life", () => {
    fc.assert(
      fc.property(anyRecord.filter(hasEnded), fc.array(anyRecord, { maxLength: 5 }), (first, later) => {
        const ofThisLife = later.map((record) => ({ ...record, claimedAt: first.claimedAt }));
        const result = merged([first, ...ofThisLife]);
        expect(result).toMatchObject(endOf(first));
      }),
    );
  });

  test("once one of the records has an end, the result has one, in any order", () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 6 }), (records) => {
        expect(hasEnded(merged(records))).toBe(records.some(hasEnded));
      }),
    );
  });

  test("no field and no key that was known about a life is lost", () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 6 }), (records) => {
        const ofOneLife = records.map((record) => ({ ...record, claimedAt: at(0) }));
        const result = merged(ofOneLife);
        for (const field of ["startedAt", "containerId", "node", "labels"] as const) {
          expect(result[field] !== undefined).toBe(ofOneLife.some((record) => record[field] !== undefined));
        }
        const keys = new Set(ofOneLife.flatMap((record) => Object.keys(record.metadata)));
        expect(Object.keys(result.metadata).sort()).toEqual([...keys].sort());
      }),
    );
  });

  test("what the result says about its end was said together: no failure comes from another end", () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 6 }), (records) => {
        const result = merged(records);
        const { failureReason, exitCode } = result;
        if (!hasEnded(result) || failureReason === undefined || exitCode === undefined) return;
        const fitting = records.filter((r) => r.status === result.status && (r.failureReason ?? failureReason) === failureReason);
        expect(fitting.some((record) => record.exitCode === exitCode)).toBe(true);
        expect(fitting.some((record) => record.failureReason === failureReason)).toBe(true);
      }),
    );
  });

  test("of two lives that have both ended, the later one counts, in any order", () => {
    const first = aRecord("s", { claimedAt: at(0), terminatedAt: at(10) });
    const second = aRecord("s", { claimedAt: at(20), terminatedAt: at(30), status: "Failed", stopReason: "Failed" });
    expect(mergeRecords(first, second)).toEqual(second);
    expect(mergeRecords(second, first)).toEqual(second);
  });

  test("the details of a crash do not go into a record that says completed", () => {
    const completed = aRecord("s");
    const crashed = aRecord("s", { status: "Failed", stopReason: "Failed", failureReason: "OOMKilled", exitCode: 137 });
    expect(mergeRecords(completed, crashed)).toEqual(completed);
  });

  test("the exit code of one crash does not go into the record of another", () => {
    const evicted = aRecord("s", { status: "Failed", stopReason: "Failed", failureReason: "Evicted" });
    const crashed = aRecord("s", { status: "Failed", stopReason: "Failed", failureReason: "OOMKilled", exitCode: 137 });
    expect(mergeRecords(evicted, crashed)).toEqual(evicted);
  });

  test("of two live records the later one to arrive counts", () => {
    expect(mergeRecords(aLiveRecord("s", { status: "Starting" }), aLiveRecord("s")).status).toBe("Running");
  });
});
