/** What `agentbox template` needs: templates that can be built on this machine without a registry. */
import type { ReadyTemplateName } from "#model/ready-templates.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import type { LayerState } from "./machine-images.ts";

export interface ReadyTemplates {
  describe(name: ReadyTemplateName): string;
  /** Builds its image and puts it among this machine's; resolves with the image's name. What was built before is taken as it is. */
  build(name: ReadyTemplateName, request: BuildRequest): Promise<string>;
  /** The objects by which sandboxes are made from the image. */
  objects(name: ReadyTemplateName, image: string): { readonly template: SandboxTemplate; readonly envs: readonly SandboxEnv[] };
}

export interface BuildRequest {
  /** Makes everything anew, with the packages of today. */
  readonly isFresh: boolean;
  readonly onStep: (step: TemplateStep) => void;
  readonly onLayer: (state: LayerState) => void;
  readonly signal: AbortSignal;
}

export interface TemplateStep {
  readonly doing: string;
  readonly done: number;
  /** 0: not known. */
  readonly total: number;
}
