import { expectTypeOf, test } from "vitest";
import type { Static } from "typebox";
import type {
  ExecBody,
  ExecStreamBody,
  execResultSchema,
  ExecTokenBody,
  LogQuery as ApiLogQuery,
  logLineSchema,
  logSchema,
} from "#api/native/schemas/execution.ts";
import type { createdSchema, CreateBody, ListQuery, SandboxBody, sandboxPageSchema, TimeoutBody } from "#api/native/schemas/sandbox.ts";
import type {
  CreatedSandbox,
  ExecResult,
  ExecStreamWish,
  ExecWish,
  LogLine,
  LogPart,
  LogQuery,
  Sandbox,
  SandboxPage,
  SandboxQuery,
  SandboxWish,
  TerminalWish,
  TimeoutWish,
} from "./sandbox-types.ts";

/** The schemas' types are mutable; ours are readonly. */
type Fixed<T> = T extends object ? { readonly [K in keyof T]: Fixed<T[K]> } : T;

test("the client asks for all that the API takes, and for nothing else", () => {
  expectTypeOf<SandboxWish>().toEqualTypeOf<Fixed<CreateBody>>();
  expectTypeOf<SandboxQuery>().toEqualTypeOf<Fixed<ListQuery>>();
  expectTypeOf<TimeoutWish>().toEqualTypeOf<Fixed<TimeoutBody>>();
  expectTypeOf<ExecWish>().toEqualTypeOf<Fixed<ExecBody>>();
  expectTypeOf<ExecStreamWish>().toEqualTypeOf<Fixed<ExecStreamBody>>();
  expectTypeOf<TerminalWish>().toEqualTypeOf<Fixed<ExecTokenBody>>();
  expectTypeOf<LogQuery>().toEqualTypeOf<Fixed<ApiLogQuery>>();
});

test("the client reads what the API answers", () => {
  expectTypeOf<Fixed<SandboxBody>>().toExtend<Sandbox>();
  expectTypeOf<Fixed<Static<typeof createdSchema>>>().toExtend<CreatedSandbox>();
  expectTypeOf<Fixed<Static<typeof sandboxPageSchema>>>().toExtend<SandboxPage>();
  expectTypeOf<Fixed<Static<typeof logSchema>>>().toExtend<LogPart>();
  expectTypeOf<Fixed<Static<typeof logLineSchema>>>().toExtend<LogLine>();
  expectTypeOf<Fixed<Static<typeof execResultSchema>>>().toExtend<ExecResult>();
});
