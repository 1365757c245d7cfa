/** A line chart over time, with a table of the same numbers for screen readers. */
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../theme.ts";

export interface ChartLine {
  readonly name: string;
  /** Name of a colour in style/tokens.css. */
  readonly color: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  /** In seconds. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly text: (value: number) => string;
  /** Shown beside the value under the cursor. */
  readonly noteAt?: (index: number) => string | undefined;
  /** The series that the note belongs to. */
  readonly noted?: string;
  readonly max?: number;
}

const height = 190;

export function Chart({ title, times, lines, text, noteAt, noted, max }: ChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const shownTheme = theme.value;
  const shape = lines.map(({ name }) => name).join();
  const latest = useRef({ times, lines, noteAt });
  latest.current = { times, lines, noteAt };
  const chart = useRef<{ setData: (data: never) => void } | undefined>(undefined);

  useEffect(() => {
    const host = element.current;
    if (host === null) return;
    let isGone = false;
    let end = (): void => {};
    const draw = async (): Promise<void> => {
      const { default: Plot } = await import("uplot");
      if (isGone) return;
      const color = (token: string): string => getComputedStyle(document.documentElement).getPropertyValue(token).trim();
      const axis = {
        stroke: color("--muted"),
        grid: { stroke: color("--line"), width: 1 },
        ticks: { show: false },
        font: "12px system-ui, sans-serif",
      };
      const plot = new Plot(
        {
          width: Math.max(200, host.clientWidth),
          height,
          cursor: { drag: { x: false, y: false } },
          scales: { x: { time: true }, y: { range: (_, __, top) => [0, Math.max(max ?? 0, (top ?? 0) * 1.1, 1)] } },
          axes: [axis, { ...axis, size: 62, values: (_, splits) => splits.map((value) => text(value)) }],
          series: [
            { label: "at" },
            ...latest.current.lines.map(({ name, color: token }) => ({
              label: name,
              stroke: color(token),
              width: 2,
              points: { show: false },
              value: (_: unknown, value: number | null, __: number, index: number | null) =>
                value === null || index === null
                  ? "–"
                  : text(value) + noteText(name === noted ? latest.current.noteAt?.(index) : undefined),
            })),
          ],
        },
        dataOf(latest.current) as never,
        host,
      );
      chart.current = plot as never;
      const watch = new ResizeObserver(() => plot.setSize({ width: Math.max(200, host.clientWidth), height }));
      watch.observe(host);
      end = () => {
        watch.disconnect();
        plot.destroy();
      };
    };
    void draw();
    return () => {
      isGone = true;
      chart.current = undefined;
      end();
    };
  }, [shownTheme, shape]);

  useEffect(() => chart.current?.setData(dataOf({ times, lines }) as never), [times, lines]);

  return (
    <figure class="chart" style={{ margin: 0 }} aria-label={title}>
      <div ref={element} aria-hidden="true" />
      <table class="hidden-visually">
        <caption>{title}, latest values</caption>
        <tbody>
          {lines.map(({ name, values }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{valueText(values.at(-1), text)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function dataOf({ times, lines }: Pick<ChartProps, "times" | "lines">): readonly (readonly (number | null)[])[] {
  return [times, ...lines.map(({ values }) => values)];
}

function noteText(note: string | undefined): string {
  return note === undefined ? "" : ` (${note})`;
}

function valueText(value: number | null | undefined, text: (value: number) => string): string {
  return value === null || value === undefined ? "none" : text(value);
}
