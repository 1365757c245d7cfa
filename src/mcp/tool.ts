/** What a tool is: its name and schema for the client, and what it does. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Static, TObject } from "typebox";
import type { ToolSandboxes } from "./sandboxes.ts";

/** For the client's model to read: what is wrong, and what would be right. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
}

/** What a tool has at hand in one call. */
export interface ToolCall {
  readonly sandboxes: ToolSandboxes;
  readonly session: McpSession;
  readonly signal: AbortSignal;
  /** Told to the client if it asked for progress. */
  readonly progress: (message: string) => void;
}

export interface McpSession {
  /** Sandboxes that are made in it are marked with this, and end with it; undefined: the client has no session. */
  readonly id?: string | undefined;
  /** What is made in it stays. */
  readonly keep: boolean;
  readonly readOnly: boolean;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: TObject;
  /** Changes nothing, so it is offered in read-only mode too. */
  readonly readOnly: boolean;
  /** May remove or overwrite something. */
  readonly destructive: boolean;
  readonly run: (input: never, call: ToolCall) => Promise<CallToolResult>;
}

export interface ToolDefinition<Input extends TObject> extends Omit<Tool, "input" | "run" | "readOnly" | "destructive"> {
  readonly input: Input;
  readonly readOnly?: true;
  readonly destructive?: true;
  readonly run: (input: Static<Input>, call: ToolCall) => Promise<CallToolResult>;
}

/** Ties the type of what it runs on to its schema. */
export function tool<Input extends TObject>({ readOnly, destructive, ...definition }: ToolDefinition<Input>): Tool {
  return { ...definition, readOnly: readOnly === true, destructive: destructive === true };
}

export function textResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

export function jsonResult(value: Readonly<Record<string, unknown>>): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(value, undefined, 1) }], structuredContent: value };
}

/** A result that the model is to take for a failure. */
export function failedResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}
