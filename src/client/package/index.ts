/** The TypeScript SDK: what the package `agentbox-sdk` exports (sdk/typescript). */
export { AgentBox, type AgentBoxOptions, type CreateOptions, type ManyOptions } from "./agent-box.ts";
export type { Change } from "./change.ts";
export type { CommandOptions, CommandResult } from "./command.ts";
export { SandboxFiles, SandboxHandle } from "./sandbox-handle.ts";
export { ClientError, isClientError } from "../client-error.ts";
export { Api } from "../generated/api.generated.ts";
export type * from "../generated/api-types.generated.ts";
