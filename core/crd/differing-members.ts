/**
 * Returns the members of `value` that differ from `defaults`, at every depth. The schema restores the omitted members.
 */
export function differingMembers(value: unknown, defaults: unknown): unknown {
  if (!isObject(value) || !isObject(defaults)) return value
  const stated = Object.entries(value).flatMap(([name, inner]): Array<[string, unknown]> => {
    if (JSON.stringify(inner) === JSON.stringify(defaults[name])) return []
    return [[name, differingMembers(inner, defaults[name])]]
  })
  return Object.fromEntries(stated)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
