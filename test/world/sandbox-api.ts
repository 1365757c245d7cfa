/** The native API of sandboxes over real services and the embedded store; only pods and claims are a test's own. */
import { generateKeyPairSync } from "node:crypto";
import { changeRoutes } from "#api/native/sandboxes/change-routes.ts";
import { createRoutes } from "#api/native/sandboxes/create-routes.ts";
import { execRoutes } from "#api/native/inside/exec-routes.ts";
import { logRoutes } from "#api/native/sandboxes/log-routes.ts";
import type { Route } from "#api/native/route.ts";
import { sandboxRoutes } from "#api/native/sandboxes/sandbox-routes.ts";
import { watchRoutes } from "#api/native/sandboxes/watch-routes.ts";
import { openSandboxService } from "#services/open-sandbox-service.ts";
import { ExecTokens } from "#services/inside/exec-tokens.ts";
import type { ExecRequest, SandboxService } from "#services/sandbox-service.ts";
import { type ApiDeps, NativeApi, only } from "./native-api.ts";
import { ServiceScene } from "./service-scene.ts";

const { privateKey } = generateKeyPairSync("ed25519");

/** Everything about sandboxes. */
export function routesOver(sandboxes: SandboxService): (deps: ApiDeps) => readonly Route[] {
  return (more) => {
    const deps = { ...more, sandboxes, execTokens: new ExecTokens<ExecRequest>({ ...more, privateKey }) };
    return [sandboxRoutes, createRoutes, changeRoutes, logRoutes, execRoutes, watchRoutes].flatMap((routes) => routes(deps));
  };
}

export class SandboxApi implements AsyncDisposable {
  readonly api: NativeApi;
  readonly scene: ServiceScene;

  private constructor(api: NativeApi, scene: ServiceScene) {
    this.api = api;
    this.scene = scene;
  }

  /** Nothing can be made or ended through it. */
  static async open(): Promise<SandboxApi> {
    const scene = await ServiceScene.open();
    const sandboxes = openSandboxService({ ...parts(scene), claims: only({}) });
    return new SandboxApi(await NativeApi.over(routesOver(sandboxes), scene.clock), scene);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api[Symbol.asyncDispose]();
    await this.scene[Symbol.asyncDispose]();
  }
}

function parts({ client, cache, history, pods, live, activity, clock, log, abilities }: ServiceScene) {
  return { client, cache, history, pods, live, activity, clock, log, abilities };
}
