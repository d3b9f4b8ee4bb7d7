/** Return the entries of an object in the order that they name themselves, with their keys as `id`. */
export function ordered<T extends { readonly order: number }>(
  entries: Readonly<Record<string, T>>,
): (T & { readonly id: string })[] {
  return Object.entries(entries)
    .map(([id, entry]) => ({ ...entry, id }))
    .sort((a, b) => a.order - b.order);
}

/** Return the entries of an object whose keys are numbers, by number. */
export function numbered<T>(entries: Readonly<Record<string, T>>): [number, T][] {
  return Object.entries(entries)
    .map(([number, entry]): [number, T] => [Number(number), entry])
    .sort(([a], [b]) => a - b);
}
