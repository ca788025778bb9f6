import type { EntrySection, FieldAddition } from './field-additions.ts'

/**
 * Returns a section entry in the form for a gateway of `protocol`: without fields that this gateway does not support
 * and may ignore, and with the list `critical` of fields that it does not support and must not ignore. Returns the
 * entry unchanged for a gateway that supports all fields.
 */
export function addressedEntry(
  entry: unknown,
  section: EntrySection,
  { protocol, additions }: { readonly protocol: number; readonly additions: readonly FieldAddition[] },
): unknown {
  const unknown = additions.filter((addition) => addition.section === section && addition.since > protocol)
  if (unknown.length === 0) return entry
  const ignored = unknown.filter(({ older }) => older === 'ignore').map(({ field }) => field.split('.'))
  const critical = unknown
    .filter(({ older, field }) => older === 'deny' && isPresent(entry, field.split('.')))
    .map(({ field }) => field)
  const kept = ignored.reduce<unknown>(without, entry)
  return critical.length === 0 || !isObject(kept) ? kept : { ...kept, critical }
}

type Path = readonly string[]

function isPresent(value: unknown, path: Path): boolean {
  if (Array.isArray(value)) return value.some((item) => isPresent(item, path))
  const [name, ...rest] = path
  if (name === undefined) return true
  return isObject(value) && value[name] !== undefined && isPresent(value[name], rest)
}

function without(value: unknown, path: Path): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, path))
  const [name, ...rest] = path
  if (name === undefined || !isObject(value) || !(name in value)) return value
  const { [name]: inner, ...others } = value
  return rest.length === 0 ? others : { ...others, [name]: without(inner, rest) }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
