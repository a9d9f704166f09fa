/** Fields of a subject, such as a flow or a queue, as columns of a table. */
import type { Column } from "../table";

/** A column with the function that reads its number from a subject. */
export interface Field<Subject> {
  column: Column;
  read(subject: Subject): number | null | undefined;
}

/** Returns a field: heading, name in CSV, unit, and what it reads. */
export function field<Subject>(
  title: string,
  csv: string,
  unit: string,
  read: Field<Subject>["read"],
  look: Pick<Column, "group" | "hint" | "secondary"> = {},
): Field<Subject> {
  return { column: { title, csv, unit, ...look }, read };
}

/** Returns the fields of which at least one subject has a number. */
export function present<Subject>(
  fields: readonly Field<Subject>[],
  subjects: readonly Subject[],
): Field<Subject>[] {
  return fields.filter(({ read }) => subjects.some((subject) => typeof read(subject) === "number"));
}
