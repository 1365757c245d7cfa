import { expect, test } from "vitest";
import { createMany } from "./create-many.ts";
import type { CreatedSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

const full = new ServiceError("no_capacity", "no pod became free");

function scene(outcomes: readonly (string | Error)[]) {
  const ended: string[] = [];
  const create = async (index: number): Promise<CreatedSandbox> => {
    const outcome = outcomes[index] ?? full;
    if (typeof outcome !== "string") throw outcome;
    return { sandbox: { sandboxId: outcome } } as CreatedSandbox;
  };
  const end = async (id: string): Promise<void> => void ended.push(id);
  return { ended, many: { create, end } };
}

const ids = (batch: { sandboxes: readonly CreatedSandbox[] }): string[] => batch.sandboxes.map(({ sandbox }) => sandbox.sandboxId);

test("all of them, when all can be had", async () => {
  const { many } = scene(["a", "b"]);
  const batch = await createMany(many, { count: 2 });
  expect(ids(batch)).toEqual(["a", "b"]);
  expect(batch.failures).toEqual([]);
});

test("all or none: what was made is ended again, and the reason is told", async () => {
  const { many, ended } = scene(["a", full, "c"]);
  await expect(createMany(many, { count: 3 })).rejects.toBe(full);
  expect(ended).toEqual(["a", "c"]);
});

test("as many as possible, with the reasons why the others are missing", async () => {
  const { many, ended } = scene(["a", full, "c"]);
  const batch = await createMany(many, { count: 3, atLeast: 2 });
  expect(ids(batch)).toEqual(["a", "c"]);
  expect(batch.failures).toEqual([{ code: "no_capacity", message: "no pod became free" }]);
  expect(ended).toEqual([]);
});

test("a defect is nothing to be content with", async () => {
  const defect = new TypeError("ours");
  const { many, ended } = scene(["a", defect]);
  await expect(createMany(many, { count: 2, atLeast: 1 })).rejects.toBe(defect);
  expect(ended).toEqual(["a"]);
});

test.each([
  [{ count: 0 }, "count"],
  [{ count: 1001 }, "count"],
  [{ count: 1.5 }, "count"],
  [{ count: 2, atLeast: 3 }, "atLeast"],
  [{ count: 2, atLeast: 0 }, "atLeast"],
])("a number that cannot be meant is refused: %o", async (options, field) => {
  const { many } = scene(["a", "b"]);
  await expect(createMany(many, options)).rejects.toMatchObject({ code: "invalid_request", details: { field } });
});
