/**
 * Spans, as a dependency: code that works in steps says when each begins and ends. The composition root passes an exporter's
 * tracer, or `noTracing`, which costs nothing.
 */
export interface Tracer {
  /** Runs `work` inside a span. It ends when the work does, and says so when the work throws. */
  span<Result>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<Result>): Promise<Result>;
}

export interface Span extends Tracer {
  set(attributes: SpanAttributes): void;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

const nothing: Span = { span: (_name, _attributes, work) => work(nothing), set: () => {} };

export const noTracing: Tracer = nothing;
