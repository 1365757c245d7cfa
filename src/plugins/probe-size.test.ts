import fc from "fast-check";
import { expect, test } from "vitest";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { NamedVerdict, RefusalKind } from "./plugin.ts";
import { maxQuestions, probeSize } from "./probe-size.ts";

function poolOf(replicas: number): SandboxPool {
  return { metadata: { name: "py" }, spec: { replicas } };
}

/** Plugins that admit up to `room`, and say so or not. */
function asking(
  room: number,
  { tells = false, kind = "InsufficientResources" }: { readonly tells?: boolean; readonly kind?: RefusalKind } = {},
) {
  const asked: number[] = [];
  const ask = async (pool: SandboxPool): Promise<NamedVerdict<SandboxPool>> => {
    const { replicas } = pool.spec;
    asked.push(replicas);
    return replicas <= room ? { object: pool } : { refusal: { plugin: "p", kind, message: "full", ...(tells && { wouldFit: room }) } };
  };
  return { ask, asked };
}

test("all that is wanted is asked for first, and nothing more when it is admitted", async () => {
  const { ask, asked } = asking(100);
  expect(await probeSize(ask, poolOf(3), 40)).toEqual({ admitted: 40 });
  expect(asked).toEqual([40]);
});

test("what a refusal says would fit is asked for next", async () => {
  const { ask, asked } = asking(17, { tells: true });
  expect(await probeSize(ask, poolOf(3), 40)).toEqual({
    admitted: 17,
    refusal: { plugin: "p", kind: "InsufficientResources", message: "full", wouldFit: 17 },
  });
  expect(asked).toEqual([40, 17]);
});

test("a pool that has no room stays as it is, also when there is less room than it has", async () => {
  const { ask, asked } = asking(1, { tells: true });
  expect(await probeSize(ask, poolOf(3), 40)).toMatchObject({ admitted: 3 });
  expect(asked).toEqual([40]);
});

test.each(["InvalidSpec", "Internal"] as const)("%s is not asked about again: a smaller number would be refused too", async (kind) => {
  const { ask, asked } = asking(10, { kind });
  expect(await probeSize(ask, poolOf(3), 40)).toMatchObject({ admitted: 3, refusal: { kind } });
  expect(asked).toEqual([40]);
});

test("a pool that shrinks asks nothing", async () => {
  const { ask, asked } = asking(0);
  expect(await probeSize(ask, poolOf(9), 4)).toEqual({ admitted: 4 });
  expect(asked).toEqual([]);
});

test("the largest number that is admitted is found in a bounded number of questions, told or not", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(50), fc.nat(1000), fc.nat(1200), fc.boolean(), async (present, more, room, tells) => {
      const wanted = present + more;
      const { ask, asked } = asking(room, { tells });
      const { admitted } = await probeSize(ask, poolOf(present), wanted);
      expect(asked.length).toBeLessThanOrEqual(maxQuestions);
      expect(admitted).toBe(Math.min(wanted, Math.max(present, room)));
    }),
  );
});

test("plugins that change their mind are not believed beyond what they admitted", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.infiniteStream(fc.option(fc.nat(300), { nil: undefined })),
      fc.nat(20),
      fc.nat(200),
      async (answers, present, more) => {
        const admittedSizes = new Set([present]);
        let questions = 0;
        const ask = async (pool: SandboxPool): Promise<NamedVerdict<SandboxPool>> => {
          questions += 1;
          const wouldFit = answers.next().value as number | undefined;
          if (wouldFit === undefined) admittedSizes.add(pool.spec.replicas);
          return wouldFit === undefined
            ? { object: pool }
            : { refusal: { plugin: "p", kind: "InsufficientResources", message: "", wouldFit } };
        };
        const { admitted } = await probeSize(ask, poolOf(present), present + more);
        expect(admittedSizes).toContain(admitted);
        expect(questions).toBeLessThanOrEqual(maxQuestions);
      },
    ),
  );
});
