/** The API of sandboxes where none are run: it says so, in place of a path that is not there. */
import type { ApiFace } from "#api/http/api-server.ts";
import { problemShape } from "#api/http/problem.ts";
import { ServiceError } from "#services/service-error.ts";

/** `why` goes on from "this server runs no sandboxes: it …". */
export function noSandboxesFace(why: string): ApiFace {
  const refuse = async (): Promise<never> => {
    throw new ServiceError("unavailable", `this server runs no sandboxes: it ${why}`);
  };
  return {
    errors: problemShape,
    routes: (app) => {
      for (const path of ["/v1/sandboxes", "/v1/sandboxes/*"]) app.all(path, refuse);
    },
  };
}
