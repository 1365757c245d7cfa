/**
 * Spans, sent to an OpenTelemetry collector. Off unless OTEL_EXPORTER_OTLP_ENDPOINT (or …_TRACES_ENDPOINT) names one, and only then
 * loaded; the exporter itself reads the other variables of OpenTelemetry (headers, timeouts).
 */
import { noTracing, type Span, type SpanAttributes, type Tracer } from "#lib/tracing.ts";
import type { Context, Span as OtelSpan, SpanStatusCode, Tracer as OtelTracer } from "@opentelemetry/api";

export interface Tracing extends AsyncDisposable {
  readonly tracer: Tracer;
}

export interface TracingOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

const off: Tracing = { tracer: noTracing, [Symbol.asyncDispose]: async () => {} };

export async function openTracing({ env, version }: TracingOptions): Promise<Tracing> {
  const endpoint = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "";
  if (endpoint === "") return off;
  const [api, { OTLPTraceExporter }, { resourceFromAttributes }, { BasicTracerProvider, BatchSpanProcessor }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/sdk-trace-base"),
  ]);
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": env["OTEL_SERVICE_NAME"] ?? "agentbox", "service.version": version }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(sendingLimit(env)))],
  });
  const spans = new Spans(api, provider.getTracer("agentbox", version));
  // A collector that is gone must not keep the server from ending.
  return { tracer: spans.inside(api.ROOT_CONTEXT), [Symbol.asyncDispose]: () => provider.shutdown().catch(() => {}) };
}

/** By default the exporter retries for ten seconds, and the shutdown of the server would wait for its last attempt. */
function sendingLimit(env: TracingOptions["env"]): { readonly timeoutMillis?: number } {
  const isChosen = [env["OTEL_EXPORTER_OTLP_TIMEOUT"], env["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"]].some((value) => (value ?? "") !== "");
  return isChosen ? {} : { timeoutMillis: 2000 };
}

/** What is used of the package that is loaded late. */
interface OtelApi {
  readonly trace: { setSpan(context: Context, span: OtelSpan): Context };
  readonly SpanStatusCode: { readonly ERROR: SpanStatusCode.ERROR };
}

class Spans {
  readonly #api: OtelApi;
  readonly #tracer: OtelTracer;

  constructor(api: OtelApi, tracer: OtelTracer) {
    this.#api = api;
    this.#tracer = tracer;
  }

  inside(context: Context): Tracer {
    return { span: (name, attributes, work) => this.#run(context, this.#tracer.startSpan(name, { attributes }, context), work) };
  }

  async #run<Result>(parent: Context, span: OtelSpan, work: (span: Span) => Promise<Result>): Promise<Result> {
    const own = this.inside(this.#api.trace.setSpan(parent, span));
    try {
      return await work({ ...own, set: (attributes: SpanAttributes) => void span.setAttributes(attributes) });
    } catch (error) {
      // The kind of failure and not its text: that may hold what a caller sent.
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: error instanceof Error ? error.name : "failed" });
      throw error;
    } finally {
      span.end();
    }
  }
}
