/** A table with a title of each column; `actions` is the column of buttons, whose title only screen readers are told. */
import type { ComponentChildren } from "preact";

interface TableProps {
  readonly columns: readonly string[];
  readonly hasActions?: boolean;
  /** Rows. */
  readonly children: ComponentChildren;
}

export function Table({ columns, hasActions = false, children }: TableProps) {
  return (
    <div class="table-wrap">
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name}>{name}</th>
            ))}
            {hasActions && (
              <th>
                <span class="hidden-visually">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
